/** What was done to a run: when, to which node, and how to take it back. */
import { el, icon } from '#lab/dom.js';
import { openDialog } from '#lab/panels/dialog.js';
import { together } from '#lab/session/actions.js';
import { t } from '#lab/strings.js';
import { words } from '#lab/timeline/words.js';

/** @import { FaultAt } from '../session/actions.js' */
/** @import { Session } from '../session/session.js' */

/** The list of what was done on the branch in use. @param {Session} session */
export function openDone(session) {
  const list = el('ol', { class: 'done-list' });
  const button = (/** @type {'undo'|'redo'} */ what) => el('button', { class: 'button', type: 'button', text: t(`done.${what}`), data: { done: what }, on: { click: () => { session.actions[what](); show(); } } });
  const [undo, redo] = [button('undo'), button('redo')];
  const empty = el('p', { text: t('done.none') });
  const show = () => {
    const all = session.actions.faults();
    // An act of many faults is one line.
    const faults = all.filter((fault, i) => all.findIndex((other) => together(other, fault)) === i);
    list.replaceChildren(...faults.map((fault, i) => row(session, fault, { least: faults[i - 1]?.at ?? 0, more: all.filter((other) => together(other, fault)).length - 1 }, show)));
    empty.hidden = faults.length > 0;
    undo.disabled = session.actions.log.length === 0;
    redo.disabled = session.actions.undone.length === 0;
  };
  show();
  openDialog(t('done.title'), el('p', { class: 'soft', text: t('done.hint') }), list, empty, el('div', { class: 'done-tools' }, undo, redo));
}

/** @param {Session} session @param {FaultAt} fault @param {{least: number, more: number}} of when the one before it was done, and how many more belong to it @param {() => void} show */
function row(session, fault, { least, more }, show) {
  const run = /** @type {import('../session/run.js').Run} */ (session.run);
  // The core puts a fault for now a microsecond later.
  const pin = run.pins().find(({ kind, at }) => kind === 'fault' && at - fault.at >= 0 && at - fault.at <= 1);
  const one = pin ? words(run, pin).text : Object.keys(fault)[0];
  const text = more ? t('done.more', { one, more }) : one;
  const seconds = (/** @type {number} */ at) => String((at - run.origin) / 1e6);
  // What was recorded came when it came.
  const time = el('input', { class: 'input', type: 'number', disabled: run.kind === 'trace', step: 'any', min: seconds(least), value: seconds(fault.at), 'aria-label': t('done.when', { text }) });
  time.addEventListener('change', () => {
    const at = run.origin + Math.round(Number(time.value) * 1e6);
    if (Number.isFinite(at)) session.actions.change(fault, Math.max(least, Math.min(at, session.clock.end)));
    show();
  });
  return el('li', {},
    time, el('span', { class: 'unit', text: 's' }), el('span', { class: 'done-what', text }),
    el('button', { class: 'button plain icon', type: 'button', 'aria-label': t('done.remove', { text }), title: t('done.remove', { text }), on: { click: () => { session.actions.change(fault, null); show(); } } }, icon('close')));
}
