/** What can be done to an arrow, or to a node. */
import { doing } from '#lab/session/run.js';
import { t } from '#lab/strings.js';
import { label } from '#lab/meet/words.js';

/** @import * as T from './types' */
/** @import { MeetRun } from './run.js' */
/** @import { Action } from '../views.js' */
/** @import { Session } from '../session/session.js' */

/** @param {T.MeetArrow} arrow @param {MeetRun} run @returns {T.Selection} */
export function selectionOf(arrow, run) {
  const name = (/** @type {number|null} */ id) => (id === null ? arrow.target : run.node(id)?.name ?? '');
  return { node: arrow.from, ticket: String(arrow.id), name: t('arrow.name', { from: name(arrow.from), to: name(arrow.to), label: label(arrow) }), arrow: arrow.id };
}

/** The selected arrow. @param {Session} session @returns {T.MeetArrow|undefined} */
export function arrowOf({ selection, run }) {
  return selection.arrow === undefined ? undefined : /** @type {MeetRun|null} */ (run)?.arrow(selection.arrow);
}

/** @param {Session} session */
export function gesturesOf(session) {
  const { selection, run } = session;
  if (run?.kind !== 'scenario' || selection.node === null) return [];
  if (arrowOf(session)) return [{ gesture: 'drop', text: t('gesture.drop'), key: 'D' }];
  const up = run.node(selection.node)?.up;
  const router = run.node(selection.node)?.role === 'router';
  return up
    ? [{ gesture: 'restart', text: t(router ? 'gesture.forget' : 'gesture.restart'), key: 'R' }, { gesture: 'crash', text: t('gesture.crash'), key: 'X' }]
    : [{ gesture: 'restart', text: t('gesture.restart'), key: 'X' }];
}

/** @param {string} gesture @param {T.Selection} target @param {Session} session @returns {Action|null} */
export function action(gesture, target, session) {
  const run = /** @type {MeetRun|null} */ (session.run);
  if (!run || target.node === null) return null;
  if (gesture === 'drop') {
    const arrow = target.arrow === undefined ? undefined : run.arrow(target.arrow);
    return arrow ? { fault: doing('drop', { node: arrow.from, n: run.number(arrow) }), name: target.name, at: arrow.sent } : null;
  }
  return { fault: doing(gesture, { node: target.node }), name: target.name };
}
