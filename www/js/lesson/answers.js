/**
 * What a learner answered in lessons: kept in this browser alone, and given away
 * only by its owner, as a table or on paper.
 */
import { el } from '#lab/dom.js';
import { csvOf } from '#lab/lesson/commits.js';
import { printSheet, saveTable } from '#lab/lesson/paper.js';
import { t } from '#lab/strings.js';
import { recall, remember } from '#lab/theme.js';

/** @import { Answer } from './commits.js' */

const KEY = 'answers';
/** The oldest are forgotten then. */
const MOST = 1000;

/** @returns {Answer[]} */
export function allAnswers() {
  try {
    const all = JSON.parse(recall(KEY) ?? '[]');
    return Array.isArray(all) ? all : [];
  } catch {
    return [];
  }
}

/** @param {Omit<Answer, 'at'|'attempt'>} answer */
export function keepAnswer(answer) {
  const all = allAnswers();
  const attempt = 1 + all.filter(({ lesson, step }) => lesson === answer.lesson && step === answer.step).length;
  all.push({ at: new Date().toISOString(), ...answer, attempt });
  remember(KEY, JSON.stringify(all.slice(-MOST)));
}

export const forgetAnswers = () => remember(KEY, '[]');

/** What can be done with one's own answers; nothing where there are none. */
export function answersBar() {
  const all = allAnswers();
  if (!all.length) return null;
  const bar = el('div', { class: 'answers' }, el('p', { text: t('answers.text', { n: all.length }) }));
  const button = (/** @type {string} */ key, /** @type {() => void} */ run) => el('button', { class: 'button small', type: 'button', text: t(key), data: { answers: key }, on: { click: run } });
  bar.append(button('answers.csv', () => saveTable('answers.csv', csvOf(all))), button('answers.print', () => printed(all)), button('answers.forget', () => { forgetAnswers(); bar.remove(); }));
  return bar;
}

/** @param {Answer[]} all */
function printed(all) {
  const row = (/** @type {Answer} */ one) => el('tr', {}, ...[new Date(one.at).toLocaleString(document.documentElement.lang), one.title, String(one.step), one.said, t(one.right ? 'answers.right' : 'answers.wrong'), String(one.attempt), String(one.seconds)].map((text) => el('td', { text })));
  const sheet = el('article', { class: 'worksheet' }, el('header', {}, el('h1', { text: t('answers.title') })),
    el('table', { class: 'answers-table' }, el('thead', {}, el('tr', {}, ...['at', 'lesson', 'step', 'said', 'right', 'attempt', 'seconds'].map((name) => el('th', { text: t(`answers.col.${name}`) })))), el('tbody', {}, ...all.map(row))));
  printSheet(sheet);
}
