/** The lesson of the class on a page that takes part: the step it is at, what its person commits to, and what came of it. */
import { el, fill } from '#lab/dom.js';
import { marked } from '#lab/lesson/marks.js';
import { lessonOf, paragraphs, tallies } from '#lab/peer/steps.js';
import { t } from '#lab/strings.js';

/** @import { Going } from './steps.js' */

export class ClassPanel {
  /** @type {Going|null} */ going = null;
  /** What was committed, by step. @type {Record<number, number>} */ commits = {};
  /** The step this page is at, where each goes at its own pace. */
  step = 0;
  #shown = '';

  /** @param {() => void} changed something is to be said to the servent */
  constructor(changed) {
    this.changed = changed;
    this.node = el('section', { class: 'part-class', hidden: true, 'aria-label': t('class.title'), 'aria-live': 'polite' });
  }

  /** What the servent is told. */
  about() { return this.going ? { run: this.going.run, step: this.step, commits: this.commits } : {}; }

  /** @param {{lesson: Going|null, commits: Record<number, number>|null}} heard */
  hear({ lesson, commits }) {
    if (lesson?.run !== this.going?.run) [this.commits, this.step] = [{}, lesson?.step ?? 0];
    this.going = lesson;
    // What the servent has stands, also after a reload.
    this.commits = { ...this.commits, ...commits };
    if (lesson && !lesson.own) this.step = lesson.step;
    const shown = JSON.stringify([lesson, this.commits, this.step]);
    if (shown !== this.#shown) this.#show();
    this.#shown = shown;
  }

  /** @param {number} step */
  #go(step) {
    this.step = step;
    this.#show();
    this.changed();
  }

  #show() {
    const { going, step } = this;
    this.node.hidden = !going;
    if (!going) return;
    const lesson = lessonOf(going.id);
    const one = lesson?.steps[step];
    if (!one) return;
    const explains = ['explain', 'debrief'].includes(one.do);
    const move = (/** @type {string} */ name, /** @type {number} */ to) => el('button', { class: 'button', type: 'button', text: t(name), disabled: !lesson.steps[to], on: { click: () => this.#go(to) } });
    fill(this.node,
      el('p', { class: 'class-name' }, el('strong', { text: lesson.title }), ` ${t('lesson.step', { n: step + 1, of: lesson.steps.length })}`),
      el('h2', { text: t(`class.${one.do}`) }), ...paragraphs(one.text), this.#asked(one),
      ...(explains || one.do === 'reveal' ? tallies(lesson, going, step) : []),
      one.do === 'explain' ? el('p', { class: 'class-concept' }, ...marked(lesson.concept)) : null,
      going.own ? el('div', { class: 'host-form' }, move('lesson.back', step - 1), move('lesson.next', step + 1)) : null);
  }

  /** @param {any} one */
  #asked({ choices }) {
    if (!choices.length) return null;
    const { step } = this;
    const said = this.commits[step];
    const commit = el('button', { class: 'button primary', type: 'submit', text: t('lesson.commit'), disabled: true });
    const inputs = choices.map((/** @type {any} */ _, /** @type {number} */ i) => el('input', { type: 'radio', name: `class-${step}`, value: i, checked: said === i, on: { change: () => { commit.disabled = false; } } }));
    const rows = choices.map((/** @type {any} */ choice, /** @type {number} */ i) => el('label', { class: 'class-choice' }, inputs[i], el('span', {}, ...marked(choice.text))));
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      const chosen = inputs.findIndex((/** @type {any} */ input) => input.checked);
      if (chosen < 0) return;
      this.commits = { ...this.commits, [step]: chosen };
      this.#show();
      this.changed();
    };
    return el('form', { class: 'class-form', on: { submit } }, el('fieldset', { disabled: said !== undefined }, ...rows), said === undefined ? commit : el('p', { class: 'host-text', role: 'status', text: t('class.committed') }));
  }
}
