/** What can be done to a client, or to the way between two. */
import { doing } from '#lab/session/run.js';
import { t } from '#lab/strings.js';
import { nameOf } from '#lab/swarm/words.js';
import { SOURCE } from '#lab/swarm/grid.js';

/** @import * as T from './types' */
/** @import { SwarmRun } from './run.js' */
/** @import { Action } from '../views.js' */
/** @import { Session } from '../session/session.js' */

/** To a client, and its keys. */
const CLIENT = /** @type {const} */ ([['kill', 'X'], ['restart', 'X'], ['stall', 'T'], ['resume', 'T'], ['passive', 'P'], ['active', 'P'], ['firewall', 'W'], ['open', 'W'], ['corrupt', 'K'], ['honest', 'K']]);
/** To the way of a transfer between two clients. */
const WAY = /** @type {const} */ ([['cut', 'D'], ['heal', 'D']]);

/** The run the selection is in. @param {Session} session */
export const runOf = ({ selection, run, other }) => /** @type {SwarmRun|null} */ (selection.lane === 1 ? other : run);

/** The selected transfer. @param {Session} session @returns {{giver: number, taker: number, piece: number}|undefined} */
export function flowOf(session) {
  const { transfer } = session.selection;
  return transfer === undefined ? undefined : runOf(session)?.transfer(transfer);
}

/** @param {SwarmRun} run @param {number} id @param {number} lane @returns {T.Selection|null} */
export function selectionOf(run, id, lane) {
  const flow = run.transfer(id);
  if (!flow) return null;
  const [from, to] = [nameOf(run, flow.giver), nameOf(run, flow.taker)];
  return { node: flow.taker, ticket: `t${id}`, name: t('transfer.name', { from, to, piece: flow.piece }), lane, transfer: id };
}

/** @param {SwarmRun} run @param {number} row @param {number} lane @returns {T.Selection} */
export const clientOf = (run, row, lane) => ({ node: row === SOURCE ? run.home.id : row, ticket: null, name: nameOf(run, row), lane });

/** True while the way between two is cut on this branch. @param {Session} session @param {number} a @param {number} b */
function severed(session, a, b) {
  const of = (/** @type {any} */ way) => way && ((way.from === a && way.to === b) || (way.from === b && way.to === a));
  return Boolean(/** @type {T.At<T.SwarmAction>[]} */ (session.actions.faults()).findLast((f) => of(f.cut ?? f.heal))?.cut);
}

/** @param {Session} session */
export function gesturesOf(session) {
  const { selection } = session;
  const run = runOf(session);
  if (!run || run.kind !== 'scenario') return [];
  const named = (/** @type {readonly [string, string]} */ [gesture, key]) => ({ gesture, text: t(`gesture.${gesture}`), key });
  const flow = flowOf(session);
  if (flow && flow.giver !== SOURCE) return WAY.filter(([g]) => (g === 'heal') === severed(session, flow.giver, flow.taker)).map(named);
  if (flow || selection.node === null) return [];
  if (selection.node === run.home.id) return [named(['restart_coordinator', 'X'])];
  const row = run.rows[selection.node];
  if (!row) return [];
  const bad = row.role !== 'honest';
  const fits = { kill: row.up, restart: !row.up && row.came, stall: row.up && !row.halted, resume: row.halted, passive: row.active, active: !row.active, firewall: row.active && !row.firewalled, open: row.firewalled, corrupt: !bad, honest: bad };
  return CLIENT.filter(([gesture]) => fits[gesture]).map(named);
}

/** @param {string} gesture @param {T.Selection} target @param {Session} session @returns {Action|null} */
export function action(gesture, target, session) {
  const run = runOf(session);
  const { node, name } = target;
  if (!run || node === null) return null;
  if (gesture === 'cut' || gesture === 'heal') {
    const flow = target.transfer === undefined ? undefined : run.transfer(target.transfer);
    if (!flow || flow.giver === SOURCE) return null;
    return { fault: doing(gesture, { from: flow.giver, to: flow.taker }), name: `${nameOf(run, flow.giver)}, ${nameOf(run, flow.taker)}` };
  }
  if (node === run.home.id) return gesture === 'restart_coordinator' ? { fault: { restart_coordinator: {} }, name } : null;
  const who = run.rows[node]?.name ?? name;
  if (gesture === 'corrupt' || gesture === 'honest') return { fault: { habit: { client: node, habit: gesture } }, name: who };
  if (gesture === 'firewall' || gesture === 'open') return { fault: { firewall: { client: node, closed: gesture === 'firewall' } }, name: who };
  return { fault: doing(gesture, { client: node }), name: who };
}
