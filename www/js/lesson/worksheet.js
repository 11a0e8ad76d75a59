/**
 * A lesson on paper: the scene, what is asked with room to write, and the
 * rule; on another sheet, for the teacher who corrects it, what is right. That is
 * asked of the core, as everything that is said of answers.
 */
import { el } from '#lab/dom.js';
import { deedsInWords } from '#lab/lesson/deeds.js';
import { marked } from '#lab/lesson/marks.js';
import { printSheet } from '#lab/lesson/paper.js';
import { scene } from '#lab/lesson/scene.js';
import { worded } from '#lab/lesson/tasks.js';
import { t } from '#lab/strings.js';

/** @import * as T from '../types' */
/** @import { Classroom } from './lesson.js' */

/** Steps that are of no use on paper. */
const SCREEN_ONLY = ['free', 'reveal'];

/** Prints the sheet of a lesson; without its picture, where that fails, and says so. @param {Classroom} room @param {boolean} answers */
export async function printWorksheet(room, answers) {
  const failed = (/** @type {unknown} */ why) => room.session.notice(t('sheet.unpictured', { why: why instanceof Error ? why.message : String(why) }), { bad: true });
  let picture = null;
  try {
    picture = scene(room);
  } catch (why) {
    failed(why);
  }
  return printSheet(worksheet(room, answers, picture), failed);
}

/** @param {Classroom} room @param {boolean} answers @param {HTMLElement|null} picture */
export function worksheet({ lesson, view, session }, answers, picture) {
  if (!lesson || !view) throw new Error(t('lesson.missing'));
  let asked = 0;
  const steps = view.steps.map((step, i) => {
    if (SCREEN_ONLY.includes(step.kind)) return null;
    if (step.task) asked += 1;
    const solved = answers && step.task ? lesson.answer(i) : null;
    // Why it is so belongs to the answers, as does what it is called.
    if (step.kind === 'explain' && !answers) return el('section', {}, heading(step, 0), ...lines(3));
    return el('section', {}, heading(step, step.task ? asked : 0), ...paragraphs(step.text),
      step.task?.question ? room(step.task.question, solved) : null, step.task?.goal ? goal(step.task.goal, solved, session) : null,
      solved ? el('div', { class: 'sheet-answer' }, solved.truth && !step.task?.question?.choice ? el('p', {}, el('b', { text: `${t('sheet.right')} ` }), ...marked(solved.truth)) : null, el('p', {}, ...marked(solved.why))) : null,
      step.kind === 'explain' ? el('p', { class: 'sheet-concept' }, ...marked(view.concept)) : null);
  });
  return el('article', { class: 'worksheet', data: { answers: String(answers) } },
    el('header', {}, el('h1', { text: view.title }), answers ? el('p', { class: 'sheet-who', text: t('sheet.answers') }) : el('p', { class: 'sheet-who' }, t('sheet.name'), el('span', { class: 'sheet-line' }), t('sheet.date'), el('span', { class: 'sheet-line short' }))),
    el('p', { class: 'sheet-text' }, ...marked(view.text)), picture, ...steps.filter(Boolean));
}

/** @param {T.StepView} step @param {number} number of the question, when it is one */
const heading = (step, number) => el('h2', {}, number ? `${number}  ` : '', t(`lesson.${step.kind}`));
/** @param {string} text */
const paragraphs = (text) => text.split('\n').filter(Boolean).map((line) => el('p', {}, ...marked(line)));
/** @param {number} n */
const lines = (n) => Array.from({ length: n }, () => el('div', { class: 'sheet-line whole' }));

/** Room for an answer, or the answer in it. @param {T.QuestionView} question @param {T.LessonAnswer|null} solved */
function room(question, solved) {
  const tick = (/** @type {string} */ text, /** @type {boolean} */ right) => el('li', { data: { right: String(right) } }, el('span', { class: 'sheet-box', text: right ? '✓' : '' }), el('span', {}, ...marked(text)));
  if (question.choice) return el('div', {}, el('ul', { class: 'sheet-choices' }, ...question.choice.map((text) => tick(text, solved?.truth === text))), ...(solved ? [] : [el('p', { class: 'sheet-because', text: t('sheet.because') }), ...lines(1)]));
  if (solved) return null;
  if (question.order) return el('ul', { class: 'sheet-choices' }, ...question.order.map((text) => tick(text, false)), el('li', { class: 'sheet-note', text: t('sheet.order') }));
  return el('p', { class: 'sheet-short' }, el('span', { class: 'sheet-line short' }), question.number ?? '');
}

/** What may be done, or one way to do it. @param {NonNullable<T.TaskView['goal']>} task @param {T.LessonAnswer|null} solved @param {Classroom['session']} session */
function goal({ budget, settings }, solved, session) {
  const may = el('p', { class: 'sheet-note', text: t('sheet.deeds', { n: budget }) });
  if (!solved?.solution) return el('div', {}, may, settings.length ? el('ul', { class: 'sheet-choices' }, ...settings.map((one) => el('li', { text: `${one.text}: ${one.values.map(worded).join(' / ')}` }))) : null, ...lines(3));
  return el('ul', { class: 'sheet-choices' }, ...deedsInWords(solved.solution, settings, session.run).map((text) => el('li', { data: { right: 'true' } }, el('span', { class: 'sheet-box', text: '✓' }), el('span', { text }))));
}
