/** A step of a lesson for a room as all see it: what is said, what was chosen by how many, what happened. */
import { el } from '#lab/dom.js';
import { language } from '#lab/language.js';
import { marked } from '#lab/lesson/marks.js';
import { roundsOf } from '#lab/peer/commits.js';
import { t } from '#lab/strings.js';
import { Groups } from '#servent';

/** @typedef {{id: string, run: number, step: number, own: boolean, tally: Record<number, number[]>, truth: Record<number, number|null>, facts: Record<string, number>|null, since: number, rate: number|null}} Going */

/** Those that were read, by language and name. */
const read = /** @type {Map<string, any>} */ (new Map());

/** A lesson in the language that is spoken. @param {string} id */
export function lessonOf(id) {
  const key = `${language()}/${id}`;
  if (!read.has(key)) read.set(key, Groups.find(id, language()));
  return read.get(key);
}

/** @param {string} text */
export const paragraphs = (text) => text.split('\n').filter(Boolean).map((line) => el('p', {}, ...marked(line)));

/** How many chose what, and what happened, for all that was asked up to a step. @param {any} lesson @param {Going} going @param {number} step */
export function tallies(lesson, going, step) {
  const asked = new Map();
  for (let n = 0; n <= step; n += 1) {
    if (!lesson.steps[n].choices.length) continue;
    const rounds = roundsOf(lesson, n);
    if (rounds.some((round) => going.tally[round])) asked.set(rounds[0], rounds);
  }
  return [...asked.values()].map((rounds) => tally(lesson, going, rounds));
}

/** @param {any} lesson @param {Going} going @param {number[]} rounds */
function tally(lesson, going, rounds) {
  const { text, choices } = lesson.steps[rounds[0]];
  const counted = rounds.filter((round) => going.tally[round]?.some((n) => n > 0));
  const most = Math.max(1, ...counted.flatMap((round) => going.tally[round]));
  const truth = going.truth[rounds[0]];
  const bars = (/** @type {number} */ choice) => counted.map((round, i) => {
    const n = going.tally[round][choice];
    const bar = el('span', { class: 'tally-bar', data: { round: i } }, el('i'), el('b', { text: String(n) }), counted.length > 1 ? el('small', { text: t(i ? 'class.round.again' : 'class.round.first') }) : null);
    bar.style.setProperty('--part', String(n / most));
    return bar;
  });
  const rows = choices.map((/** @type {any} */ one, /** @type {number} */ choice) => el('li', { data: { right: String(truth === choice) } },
    el('span', { class: 'tally-text' }, truth === choice ? el('strong', { text: `${t('class.happened')} ` }) : null, ...marked(one.text)), ...bars(choice), truth === choice ? el('span', { class: 'tally-why' }, ...marked(one.why)) : null));
  return el('div', { class: 'tally' }, el('h3', {}, ...marked(text.split('\n')[0])), el('ul', {}, ...rows), going.facts && truth === null ? el('p', { class: 'host-text', text: t('class.unknown') }) : null);
}
