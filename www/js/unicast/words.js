/** What an arrow is, in a word on the picture and in a sentence beside it. */
import { clock } from '#lab/format.js';
import { told } from '#lab/session/future.js';
import { t } from '#lab/strings.js';

/** @import * as T from './types' */
/** @typedef {'data'|'again'|'ack'|'want'|'close'|'probe'} Kind */

/** `5` or `5–8`. @param {number} from @param {number} to */
export const range = (from, to) => (from === to ? `${from}` : `${from}–${to}`);

/** Ranges in a word; beyond a few the rest is a number. @param {[number, number][]} list @param {number} most */
export function ranges(list, most = 4) {
  const shown = list.slice(0, most).map(([a, b]) => range(a, b)).join(', ');
  return list.length > most ? `${shown} …` : shown;
}

/** What carries most weight in a datagram. @param {T.Arrow} arrow @returns {Kind} */
export function kindOf({ blocks, again }) {
  if (blocks.some((b) => b.data)) return again ? 'again' : 'data';
  if (blocks.some((b) => b.request || (b.ack && b.ack.wanted.length > 0))) return 'want';
  if (blocks.some((b) => b.close || b.closed)) return 'close';
  return blocks.some((b) => b.ack) ? 'ack' : 'probe';
}

/** @param {T.Block} block @param {boolean} terse */
function part({ data, ack, request, close, closed, probe, size_probe, size_found, challenge, response }, terse) {
  if (data) return terse ? range(data.from, data.to) : t(data.again ? 'block.again' : data.first ? 'block.first' : 'block.data', { n: range(data.from, data.to), many: data.to > data.from, why: data.again });
  if (ack && ack.wanted.length) return t(terse ? 'label.want' : 'block.want', { upto: ack.upto, n: ranges(ack.wanted) });
  if (ack) return t(terse ? 'label.ack' : 'block.ack', { upto: ack.upto });
  if (request) return t(terse ? 'label.request' : 'block.request');
  if (close) return t(terse ? 'label.close' : 'block.close', { last: close.last });
  if (closed) return t(terse ? 'label.closed' : 'block.closed', { upto: closed.upto });
  if (size_probe) return t(terse ? 'label.size_probe' : 'block.size_probe', { size: size_probe.size });
  if (size_found) return t(terse ? 'label.size_found' : 'block.size_found', { size: size_found.size });
  if (challenge) return t(terse ? 'label.challenge' : 'block.challenge');
  if (response) return t(terse ? 'label.response' : 'block.response');
  return t(terse ? 'label.probe' : 'block.probe', { sent: probe?.sent ?? 0 });
}

/** Numbers that follow one another are one range. @param {T.Block[]} blocks */
function joined(blocks) {
  /** @type {T.Block[]} */
  const list = [];
  for (const block of blocks) {
    const last = list.at(-1)?.data;
    if (block.data && last && last.to + 1 === block.data.from && last.again === block.data.again && last.conn === block.data.conn) list[list.length - 1] = { data: { ...last, to: block.data.to } };
    else list.push(block);
  }
  return list;
}

/** The word on an arrow. @param {T.Arrow} arrow */
export const label = (arrow) => joined(arrow.blocks).map((block) => part(block, true)).join(' · ') || t('label.empty');

/** What it carries. @param {T.Arrow} arrow */
export const cargo = (arrow) => joined(arrow.blocks).map((block) => part(block, false)).join('; ') || t('label.empty');

/** What became of it. @param {T.Arrow} arrow @param {import('./run.js').UnicastRun} run */
export function fate(arrow, run) {
  const { origin, now } = run;
  if (!told(arrow.at ?? arrow.due, now)) return t('fate.flying');
  if (arrow.fate === 'lost') return t(`fate.lost.${arrow.why ?? 'chance'}`);
  if (arrow.fate === 'flying' || arrow.at === null) return t('fate.flying');
  return t(arrow.why === 'delay' ? 'fate.late' : 'fate.arrived', { at: clock(arrow.at - origin), guessed: run.guessed(arrow) === 'end' });
}

/** The whole story of an arrow in a sentence. @param {T.Arrow} arrow @param {import('./run.js').UnicastRun} run */
export function sentence(arrow, run) {
  const name = (/** @type {number} */ id) => run.node(id)?.name ?? '';
  return t('arrow.sentence', { from: name(arrow.from), to: name(arrow.to), n: arrow.n, at: clock(arrow.sent - run.origin), cargo: cargo(arrow), fate: fate(arrow, run), copy: arrow.copy_of !== null });
}
