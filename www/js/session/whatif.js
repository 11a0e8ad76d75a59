/**
 * What if: questions to a recording of a real run. One thing that came from
 * outside is lost, later, or comes twice; the rest is what was recorded.
 */
import { el } from '#lab/dom.js';
import { span } from '#lab/format.js';
import { doing, tapeOf } from '#lab/session/run.js';
import { t } from '#lab/strings.js';

/** @import * as T from '../types' */
/** @import { Run } from './run.js' */
/** @import { Session } from './session.js' */
/** @import { UnicastRun } from '../unicast/run.js' */

/** @typedef {'lose'|'late'|'twice'} Ask */
/** @typedef {{ask: Ask, text: string, fault: T.AnyFault, name: string, at: number}} Question */

/** What the gestures of the views ask here. @type {Record<string, Ask>} */
const SAME = { drop: 'lose', cut: 'lose', kill: 'lose', delay: 'late', duplicate: 'twice' };
/** A delayed datagram comes so many flights late, a copy so many; anything else this part of the whole. */
const [LATE, COPY, SHARE] = [4, 0.5, 1 / 20];
/** What can come late, or not at all; a node's timers and its own disk are no part of that. */
const OUTSIDE = ['datagram', 'connection', 'arrival', 'dial', 'command', 'file'];

/** What can be asked of the arrow that is selected, or else of the newest event. @param {Session} session @returns {Question[]} */
export function questions(session) {
  const { run, selection } = session;
  if (run?.kind !== 'trace') return [];
  return selection.arrow === undefined ? ofEvent(session, run) : ofArrow(selection.arrow, /** @type {UnicastRun} */ (run), selection.name);
}

/** @param {number} id @param {UnicastRun} run @param {string} name @returns {Question[]} */
function ofArrow(id, run, name) {
  const arrow = run.arrow(id);
  if (!arrow || run.guessed(arrow) !== 'start') return [];
  const { from, to, n } = arrow;
  const way = { from, to, n };
  const [late, copy] = [LATE, COPY].map((times) => Math.round(run.flight * times));
  const question = (/** @type {Ask} */ ask, /** @type {string} */ fault, /** @type {number} */ by) => ({ ask, name, at: arrow.at ?? arrow.sent, text: t(`whatif.${ask}.datagram`, { by: span(by) }), fault: doing(fault, by ? { ...way, by } : way) });
  return [question('lose', 'drop', 0), question('late', 'delay', late), question('twice', 'duplicate', copy)];
}

/** @param {Session} session @param {Run} run @returns {Question[]} */
function ofEvent(session, run) {
  const record = session.current();
  const given = record && run.raw.given(record.seq);
  if (!given || !OUTSIDE.includes(given.what)) return [];
  const by = Math.max(1000, Math.round((run.end - run.origin) * SHARE));
  const of = { name: given.who ?? '', at: record.at };
  return [
    { ask: 'lose', text: t(`whatif.lose.${given.what}`), fault: doing('lose', { record: record.seq }), ...of },
    { ask: 'late', text: t(`whatif.late.${given.what}`, { by: span(by) }), fault: doing('late', { record: record.seq, by }), ...of },
  ];
}

/** Asks: the answer is a branch. @param {Session} session @param {string} gesture */
export function ask(session, gesture) {
  const { run } = session;
  const one = questions(session).find((question) => question.ask === (SAME[gesture] ?? gesture));
  if (!run || !one) return session.notice(t('gesture.trace'));
  session.clock.pause();
  try {
    session.clock.seek(one.at);
    session.actions.inject(one.fault);
    session.actions.undone = [];
    run.refreshNodes();
  } catch (why) {
    return session.notice(t('gesture.failed', { why: why instanceof Error ? why.message : String(why) }), { bad: true });
  }
  session.clock.seek(one.at);
  // On a branch an arrow has another number, or is none.
  session.select({ node: null, ticket: null, name: '' });
  const seq = run.raw.divergence(session.actions.log.at(-1)?.from ?? 0, session.actions.branch);
  session.notice(t('whatif.asked', { text: one.text, same: seq === undefined || seq === null }));
  session.emit('faults');
  session.emit('struck');
  return session.clock.touch();
}

/** The questions as buttons, and what the answers are worth. @param {Session} session */
export function questionsOf(session) {
  const { run, selection } = session;
  if (run?.kind !== 'trace') return null;
  const all = questions(session);
  const given = selection.arrow === undefined ? run.raw.given(run.index - 1)?.what : 'sent';
  if (!all.length && !given) return null;
  const first = !all.length;
  return el('div', { class: 'whatif' }, el('h2', { text: t('whatif.title') }),
    first ? null : el('div', { class: 'gestures', role: 'group', 'aria-label': t('whatif.title') }, ...all.map(({ ask: which, text }) => el('button', { class: 'button small', type: 'button', data: { ask: which }, text, on: { click: () => ask(session, which) } }))),
    el('p', { class: 'soft', text: t(first ? `whatif.not.${given}` : session.actions.branch > 0 ? 'whatif.worth' : 'whatif.hint') }));
}

/** The recording beside what if, on one clock; or alone again. @param {Session} session @param {boolean} two */
export function beside(session, two) {
  const { run, other } = session;
  if (!run || two === (other !== null)) return;
  if (other) {
    other.free();
    session.other = null;
    run.side = '';
    session.emit('run');
    return;
  }
  const tape = tapeOf(run.source);
  const copy = tape.copy();
  tape.free();
  const recorded = session.view.fromTape?.(copy) ?? null;
  if (recorded && recorded.source !== copy) copy.free();
  if (recorded) recorded.side = t('whatif.side.recorded');
  run.side = t('whatif.side.branch');
  recorded?.raw.seek(run.now);
  session.other = recorded;
  session.emit('run');
}
