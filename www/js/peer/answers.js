/** What the host takes home of a lesson: the answers of the class, as a table or on paper, without names. */
import { el } from '#lab/dom.js';
import { printSheet, saveTable } from '#lab/lesson/paper.js';
import { marked } from '#lab/lesson/marks.js';
import { asked, classTable, questions } from '#lab/peer/commits.js';
import { t } from '#lab/strings.js';

/** @import { Going } from './steps.js' */
/** @import { Member } from './commits.js' */

/** @param {number} choice */
const letter = (choice) => String.fromCharCode(65 + choice);

/** @param {any} lesson @param {Going} going @param {[number, Member][]} members */
export function classSheet(lesson, going, members) {
  const all = questions(lesson);
  const head = (/** @type {string[]} */ ...texts) => el('thead', {}, el('tr', {}, ...texts.map((text) => el('th', { text }))));
  const round = (/** @type {number} */ i, /** @type {number} */ of) => (of > 1 ? t(i ? 'class.round.again' : 'class.round.first') : t('host.answers.count'));
  const counted = all.map((/** @type {any} */ { rounds, first }, /** @type {number} */ number) => {
    const truth = going.truth[first] ?? null;
    const row = (/** @type {any} */ one, /** @type {number} */ choice) => el('tr', { data: { right: String(truth === choice) } },
      el('td', { text: letter(choice) }), el('td', {}, truth === choice ? el('strong', { text: `${t('class.happened')} ` }) : null, ...marked(one.text)), ...rounds.map((/** @type {number} */ step) => el('td', { text: String(going.tally[step]?.[choice] ?? 0) })));
    return el('section', {}, el('h2', {}, `${number + 1}  `, ...marked(asked(lesson, first))),
      el('table', { class: 'answers-table' }, head('', t('answers.col.said'), ...rounds.map((/** @type {number} */ _, /** @type {number} */ i) => round(i, rounds.length))), el('tbody', {}, ...lesson.steps[first].choices.map(row))));
  });
  const columns = all.flatMap((/** @type {any} */ { rounds }, /** @type {number} */ number) => rounds.map((/** @type {number} */ step, /** @type {number} */ i) => ({ step, text: `${number + 1}${rounds.length > 1 ? ` ${round(i, rounds.length)}` : ''}` })));
  const people = members.map(([person, { commits }]) => el('tr', {}, el('td', { text: t('host.answers.person', { n: person }) }), ...columns.map((/** @type {any} */ { step }) => el('td', { text: commits[step] === undefined ? '–' : letter(commits[step]) }))));
  return el('article', { class: 'worksheet' }, el('header', {}, el('h1', { text: lesson.title }), el('p', { class: 'sheet-who', text: new Date().toLocaleDateString(document.documentElement.lang) })),
    el('p', { class: 'sheet-text', text: t('host.answers.text') }), ...counted,
    el('section', {}, el('table', { class: 'answers-table' }, head('', ...columns.map((/** @type {any} */ { text }) => text)), el('tbody', {}, ...people))));
}

/** Both buttons, once there is something to take away. @param {any} lesson @param {Going} going @param {() => [number, Member][]} members */
export function answersButtons(lesson, going, members) {
  const button = (/** @type {string} */ name, /** @type {() => void} */ run) => el('button', { class: 'button', type: 'button', text: t(name), data: { teach: name }, on: { click: run } });
  return [
    button('host.answers.csv', () => saveTable(`${lesson.id ?? going.id}.csv`, classTable(lesson, going, members()))),
    button('host.answers.print', () => printSheet(classSheet(lesson, going, members()))),
  ];
}
