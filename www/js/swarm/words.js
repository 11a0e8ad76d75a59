/** What a client, a cell or a transfer is, in words. */
import { bytes, fixed, percent } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { ASKED, BAD, FAILED, FLIGHT, GIVEN, HELD } from '#lab/swarm/run.js';
import { SOURCE } from '#lab/swarm/grid.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Place } from './grid.js' */
/** @import * as T from './types' */

/** A length as it is said of a stall. @param {number} us */
export const length = (us) => (us < 9.95e6 ? `${fixed(us / 1e6, 1)} s` : us < 100e6 ? `${Math.round(us / 1e6)} s` : `${Math.floor(us / 60e6)} min`);

/** What matters most of a client now. @param {T.Row} client @param {boolean} wide */
export function brief(client, wide) {
  if (!client.up) return t(client.came ? 'row.gone' : 'row.absent');
  if (client.halted) return t('row.halted');
  if (client.quarantined) return t('row.quarantined');
  // A stall that has just begun has no length yet.
  if (client.stalled !== null && client.waits < 50_000) return wide ? t('sign.stalled') : '▮';
  if (client.stalled !== null) return t(wide ? 'row.stalled' : 'row.stalled.short', { for: length(client.waits) });
  if (client.whole) return t('row.whole');
  return client.rate > 0 ? t('row.rate', { rate: bytes(client.rate) }) : t('row.waits');
}

/** @param {SwarmRun} run @param {number} row */
export const nameOf = (run, row) => (row === SOURCE ? t('swarm.source') : run.rows[row]?.name ?? '');

/** One cell in a sentence. @param {SwarmRun} run @param {Place} place */
export function sentence(run, { row, piece }) {
  if (piece === null) return row === null ? '' : row === SOURCE ? t('cell.source', { copies: run.copies }) : about(run, row);
  const copies = t('cell.copies', { n: run.rarity[piece] ?? 0, of: run.rows.length });
  if (row === null) return t('cell.piece', { piece, copies });
  const name = nameOf(run, row);
  if (row === SOURCE) return t('cell.source.piece', { piece, copies });
  const state = run.cells[row * run.pieces + piece];
  const flow = state === FLIGHT || state === ASKED ? run.transfers.find((f) => f.taker === row && f.piece === piece) : undefined;
  if (flow) return t('cell.flight', { name, piece, from: nameOf(run, flow.giver), share: percent(flow.share), copies });
  const gives = state === GIVEN ? run.transfers.find((f) => f.giver === row && f.piece === piece) : undefined;
  if (gives) return t('cell.gives', { name, piece, to: nameOf(run, gives.taker), copies });
  return t(state === HELD || state === GIVEN ? 'cell.held' : state === BAD ? 'cell.bad' : state === FAILED ? 'cell.failed' : 'cell.missing', { name, piece, copies });
}

/** A client in a sentence. @param {SwarmRun} run @param {number} row */
export function about(run, row) {
  const client = run.rows[row];
  if (!client) return '';
  return t('row.about', { name: client.name, mode: t(client.active ? 'mode.active' : 'mode.passive'), have: client.have, of: run.pieces, state: brief(client, true) });
}
