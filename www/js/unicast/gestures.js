/** What can be done to an arrow, or to a node. */
import { doing } from '#lab/session/run.js';
import { t } from '#lab/strings.js';
import { label } from '#lab/unicast/words.js';

/** @import * as T from './types' */
/** @import { UnicastRun } from './run.js' */
/** @import { Action } from '../views.js' */
/** @import { Session } from '../session/session.js' */

/** To an arrow, and its keys. */
const ARROW = /** @type {const} */ ([['drop', 'D'], ['delay', 'L'], ['duplicate', 'M']]);
/** To a node. */
const NODE = /** @type {const} */ ([['send', 'S'], ['close', 'O'], ['crash', 'X'], ['restart', 'X'], ['stall', 'T'], ['resume', 'T']]);
/** A delayed one arrives so many flights late, a copy so many. */
const LATE = 4;
const COPY = 0.5;
/** What is sent on request. */
const MORE = { count: 5, size: 40, every: 0 };

/** @param {T.Arrow} arrow @param {UnicastRun} run @param {number} lane @returns {T.Selection} */
export function selectionOf(arrow, run, lane) {
  const name = (/** @type {number} */ id) => run.node(id)?.name ?? '';
  return { node: arrow.from, ticket: String(arrow.id), name: t('arrow.name', { from: name(arrow.from), to: name(arrow.to), label: label(arrow) }), lane, arrow: arrow.id };
}

/** The selected arrow. @param {Session} session @returns {T.Arrow|undefined} */
export function arrowOf({ selection, run, other }) {
  const of = /** @type {UnicastRun|null} */ (selection.lane === 1 ? other : run);
  return selection.arrow === undefined ? undefined : of?.arrow(selection.arrow);
}

/** @param {Session} session */
export function gesturesOf(session) {
  const { selection, run } = session;
  if (run?.kind !== 'scenario') return [];
  const arrow = arrowOf(session);
  // A copy has no number of its own, so it cannot be struck.
  if (arrow) return arrow.copy_of === null ? ARROW.map(([gesture, key]) => ({ gesture, text: t(`gesture.${gesture}`), key })) : [];
  if (selection.node === null) return [];
  const node = /** @type {T.NodeInfo|undefined} */ (/** @type {unknown} */ (run.node(selection.node)));
  const sends = node?.role !== 'receiver';
  const halted = stalled(session);
  const fits = { send: sends, close: sends, crash: node?.up, restart: !node?.up, stall: node?.up && !halted, resume: halted };
  return NODE.filter(([gesture]) => fits[gesture]).map(([gesture, key]) => ({ gesture, text: t(`gesture.${gesture}`), key }));
}

/** True when the selected node stands still on this branch. @param {Session} session */
export function stalled(session) {
  const { node } = session.selection;
  return Boolean(/** @type {T.At<T.UnicastAction>[]} */ (session.actions.faults()).findLast((f) => (f.stall ?? f.resume)?.node === node)?.stall);
}

/** @param {string} gesture @param {T.Selection} target @param {Session} session @returns {Action|null} */
export function action(gesture, target, session) {
  const run = /** @type {UnicastRun|null} */ (target.lane === 1 ? session.other : session.run);
  const arrow = target.arrow === undefined ? undefined : run?.arrow(target.arrow);
  if (!run || target.node === null) return null;
  if (['drop', 'delay', 'duplicate'].includes(gesture)) {
    if (!arrow || arrow.copy_of !== null) return null;
    const { from, to, n } = arrow;
    const by = gesture === 'delay' ? { by: Math.round(run.flight * LATE) } : gesture === 'duplicate' ? { by: Math.round(run.flight * COPY) } : {};
    return { fault: doing(gesture, { from, to, n, ...by }), name: target.name, at: arrow.sent };
  }
  const { node } = target;
  const peer = run.nodes.find((other) => other.id !== node)?.id ?? node;
  if (gesture === 'send') return { fault: doing('send', { from: node, to: peer, ...MORE }), name: target.name };
  if (gesture === 'close') return { fault: { close: { from: node, to: peer } }, name: target.name };
  return { fault: doing(gesture, { node }), name: target.name };
}
