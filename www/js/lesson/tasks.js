/** What is asked in a step, as things to press. Each gives what was answered, or nothing yet. */
import { el, icon } from '#lab/dom.js';
import { marked, plain } from '#lab/lesson/marks.js';
import { known, t } from '#lab/strings.js';

/** @import * as T from '../types' */
/** @import { Classroom } from './lesson.js' */

/** @typedef {{node: HTMLElement, reply: () => T.QuestionReply|null}} Asked */

/**
 * @param {T.QuestionView} question
 * @param {Classroom} room
 * @param {T.QuestionReply|null} given what was answered, when it was
 * @param {() => void} changed
 * @returns {Asked}
 */
export function ask(question, room, given, changed) {
  if (question.choice) return choice(question.choice, given, changed);
  if (question.number !== undefined) return number(question.number, given, changed);
  if (question.order) return order(question.order, given);
  return point(room, given, changed);
}

/** @param {string[]} sentences @param {T.QuestionReply|null} given @param {() => void} changed @returns {Asked} */
function choice(sentences, given, changed) {
  const inputs = sentences.map((_, i) => /** @type {HTMLInputElement} */ (el('input', { type: 'radio', name: 'lesson-choice', value: i, checked: given?.choice === i, on: { change: changed } })));
  const rows = sentences.map((text, i) => el('label', { class: 'lesson-choice' }, inputs[i], el('span', {}, ...marked(text))));
  return {
    node: el('div', { class: 'lesson-choices' }, ...rows),
    reply: () => {
      const i = inputs.findIndex((input) => input.checked);
      return i < 0 ? null : { choice: i };
    },
  };
}

/** @param {string} unit @param {T.QuestionReply|null} given @param {() => void} changed @returns {Asked} */
function number(unit, given, changed) {
  const input = /** @type {HTMLInputElement} */ (el('input', { class: 'input', type: 'number', step: 'any', inputmode: 'decimal', value: given?.number ?? '', on: { input: changed } }));
  return {
    node: el('label', { class: 'lesson-number' }, el('span', { class: 'quiet', text: t('lesson.number') }), input, unit),
    reply: () => (input.value === '' || !Number.isFinite(input.valueAsNumber) ? null : { number: input.valueAsNumber }),
  };
}

/** A node: by pointing at it in the picture, or from the list. @param {Classroom} room @param {T.QuestionReply|null} given @param {() => void} changed @returns {Asked} */
function point(room, given, changed) {
  const { session } = room;
  const names = (session.run?.nodes ?? []).map((node) => node.name);
  const select = /** @type {HTMLSelectElement} */ (el('select', { class: 'input', on: { change: changed } }, el('option', { value: '', text: t('lesson.point.none') }), ...names.map((name) => el('option', { value: name, text: name }))));
  select.value = given?.node ?? '';
  const pointed = () => {
    if (!select.isConnected) return session.removeEventListener('select', pointed);
    const { node, name } = session.selection;
    const chosen = (node === null ? null : session.run?.node(node)?.name) ?? name;
    if (select.closest('fieldset')?.disabled || !names.includes(chosen)) return undefined;
    select.value = chosen;
    return changed();
  };
  session.addEventListener('select', pointed);
  return {
    node: el('label', { class: 'field' }, t('lesson.point'), select),
    reply: () => (select.value ? { node: select.value } : null),
  };
}

/** @param {string[]} texts @param {T.QuestionReply|null} given @returns {Asked} */
function order(texts, given) {
  const list = [...(given?.order ?? texts)];
  const node = el('ol', { class: 'lesson-order' });
  const move = (/** @type {number} */ i, /** @type {number} */ by) => {
    const [one] = list.splice(i, 1);
    list.splice(i + by, 0, one);
    show();
    const row = node.children[i + by];
    const same = row.querySelector(`[data-by="${by}"]:not(:disabled)`) ?? row.querySelector('button:not(:disabled)');
    same?.focus();
  };
  const button = (/** @type {number} */ i, /** @type {number} */ by, /** @type {string} */ key) => el('button', {
    class: 'button small icon', type: 'button', data: { by }, disabled: list[i + by] === undefined, 'aria-label': t(key, { text: plain(list[i]) }), title: t(key, { text: plain(list[i]) }), on: { click: () => move(i, by) },
  }, icon('fold'));
  const show = () => node.replaceChildren(...list.map((text, i) => el('li', {}, el('span', {}, ...marked(text)), el('span', { class: 'lesson-move' }, button(i, -1, 'lesson.up'), button(i, 1, 'lesson.down')))));
  show();
  return { node, reply: () => ({ order: [...list] }) };
}

/** The value of a setting, as the picture calls it. @param {unknown} value */
export const worded = (value) => (known(`policy.${value}`) ? t(`policy.${value}`) : String(value));
