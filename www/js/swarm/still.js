/** What is said on the picture itself: that nothing has happened yet, or that nothing will any more. */
import { el } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import { length } from '#lab/swarm/words.js';

/** @import { Lane } from './lane.js' */

/** @param {HTMLElement} node @param {Lane[]} lanes those that are shown */
export function stillOf(node, lanes) {
  const notes = lanes.map((lane) => noteOf(lane));
  const shape = notes.map((note) => note?.join() ?? '').join('|');
  if (node.dataset.of === shape) return;
  node.dataset.of = shape;
  node.replaceChildren(...notes.map((note) => el('div', { class: 'still' }, note ? el('p', { class: note[0], role: note[0] === 'deadlock' ? 'status' : null }, el('strong', { text: note[1] }), el('span', { text: whole(note[2]) })) : null)));
}

/** A number and its unit stay on one line. @param {string} text */
const whole = (text) => text.replace(/(\d) (?=(s|min)\b)/g, '$1\u00a0');

/** @param {Lane} lane @returns {[string, string, string]|null} */
function noteOf({ run }) {
  const { outcome, counters, now } = run;
  if (outcome.deadlocked !== null && outcome.deadlocked !== undefined && now >= outcome.deadlocked) {
    const left = counters.wanting - counters.whole;
    return ['deadlock', t('still.deadlock'), t('still.deadlock.why', { left, stalled: counters.stalled, at: length(outcome.deadlocked - run.origin) })];
  }
  if (run.rows.every((row) => !row.up && !row.came)) return ['empty', t('still.empty'), t('still.empty.hint')];
  return null;
}
