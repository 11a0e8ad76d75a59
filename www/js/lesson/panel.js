/** `<lesson-panel>`: the step of a lesson, beside the picture it is about. */
import { announce, el, fill, icon, setAttr } from '#lab/dom.js';
import { isEmbedded } from '#lab/embed.js';
import { clauseButton, placeOf } from '#lab/panels/clause.js';
import { marked, plain } from '#lab/lesson/marks.js';
import { ask, worded } from '#lab/lesson/tasks.js';
import { teacherMenu } from '#lab/lesson/teacher.js';
import { isLocked } from '#lab/lock.js';
import { t } from '#lab/strings.js';

/** @import * as T from '../types' */
/** @import { Answered, Classroom } from './lesson.js' */

export class LessonPanel extends HTMLElement {
  /** What was seen to its end is told once. */
  #told = false;

  /** @param {Classroom} room @param {() => void} list opens the list of lessons @param {() => void} link copies the link for a class */
  connect(room, list, link) {
    this.room = room;
    this.list = list;
    this.link = link;
    this.hidden = true;
    room.addEventListener('step', () => this.#show(true));
    room.addEventListener('reply', () => this.#show(false));
    room.session.addEventListener('frame', () => this.#watch());
    room.session.addEventListener('faults', () => { if (room.now?.kind === 'goal') this.#show(false); });
  }

  /** Once what is to be shown has been seen, it is said what came of the prediction. */
  #watch() {
    const room = /** @type {Classroom} */ (this.room);
    if (room.now?.kind !== 'reveal' || !room.seen || this.#told) return;
    this.#show(false);
    if (room.before) this.#judge(room.before);
  }

  /** @param {boolean} fresh another step */
  #show(fresh) {
    const room = /** @type {Classroom} */ (this.room);
    const { view, now, step } = room;
    this.hidden = !view;
    if (!view || !now) return this.replaceChildren();
    this.#told = now.kind === 'reveal' && room.seen;
    // The keyboard's focus stays on the same thing.
    const held = /** @type {HTMLElement|null} */ (this.contains(document.activeElement) ? document.activeElement : null)?.dataset.lesson;
    const title = el('h2', { tabindex: '-1', text: t(`lesson.${now.kind}`) });
    const paragraphs = now.text.split('\n').filter(Boolean).map((line) => el('p', {}, ...marked(line)));
    fill(this, this.#head(view, step),
      el('section', { class: 'lesson-step', data: { kind: now.kind } }, title, ...paragraphs, this.#body(now), this.#end(view, now)),
      this.#foot(view, step));
    if (fresh) {
      this.closest('.lab-side')?.scrollTo({ top: 0 });
      // A page around this one keeps the focus until a learner comes in.
      if (!isEmbedded() || document.hasFocus()) title.focus({ preventScroll: true });
      announce(`${t(`lesson.${now.kind}`)}. ${plain(now.text)}`);
    } else if (held) this.#focus(`[data-lesson="${held}"]`);
    return undefined;
  }

  /** Speaks a verdict. @param {Answered} answered */
  #judge({ verdict: { right, why } }) { announce(`${t(right ? 'lesson.right' : 'lesson.wrong')}. ${plain(why)}`); }

  /** @param {string} selector */
  #focus(selector) { /** @type {HTMLElement|null} */ (this.querySelector(selector))?.focus(); }

  /** @param {T.LessonView} view @param {number} step */
  #head(view, step) {
    const room = /** @type {Classroom} */ (this.room);
    return el('header', { class: 'lesson-head' },
      el('p', { class: 'lesson-name' }, el('b', { text: view.title }), el('span', { text: t('lesson.step', { n: step + 1, of: view.steps.length }) })),
      el('span', { class: 'lesson-tools' }, teacherMenu(room, () => this.link?.()),
      isLocked() ? null : el('button', { class: 'button plain small icon', type: 'button', data: { lesson: 'leave' }, 'aria-label': t('lesson.leave'), title: t('lesson.leave'), on: { click: () => room.leave() } }, icon('close'))),
      el('ol', { class: 'lesson-way', 'aria-hidden': 'true' }, ...view.steps.map((_, i) => el('li', { data: i === step ? { here: '' } : i < step ? { past: '' } : {} }))));
  }

  /** @param {T.StepView} now */
  #body(now) {
    const room = /** @type {Classroom} */ (this.room);
    if (now.task?.question) return this.#question(now.task.question);
    if (now.task?.goal) return this.#goal(now.task.goal);
    const { before } = room;
    if (now.kind === 'reveal' && before) return this.#told ? verdict(before) : el('p', { class: 'lesson-said' }, t('lesson.watch'));
    return null;
  }

  /** @param {T.QuestionView} question */
  #question(question) {
    const room = /** @type {Classroom} */ (this.room);
    const given = room.answers.get(room.step) ?? null;
    const commit = el('button', { class: 'button primary', type: 'submit', data: { lesson: 'commit' }, text: t('lesson.commit') });
    const asked = ask(question, room, given?.reply ?? null, () => { commit.disabled = asked.reply() === null; });
    commit.disabled = asked.reply() === null;
    const fields = el('fieldset', { disabled: given !== null }, el('legend', { class: 'quiet', text: t('lesson.answer') }), asked.node, given ? null : commit);
    const form = el('form', {
      on: {
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          const reply = asked.reply();
          if (!reply) return;
          try {
            room.commit(reply);
          } catch (why) {
            return room.session.notice(why instanceof Error ? why.message : String(why), { bad: true });
          }
          const said = room.answers.get(room.step);
          if (said && room.now?.kind !== 'predict') this.#judge(said);
          else announce(t('lesson.committed'));
          this.#focus('[data-lesson="next"], .lesson-verdict');
        },
      },
    }, fields);
    // A prediction is answered by what happens, and not before.
    const after = given && (room.now?.kind === 'predict' ? el('p', { class: 'lesson-said', text: t('lesson.committed') }) : verdict(given));
    return el('div', {}, form, after || null);
  }

  /** @param {NonNullable<T.TaskView['goal']>} goal */
  #goal({ budget, settings }) {
    const room = /** @type {Classroom} */ (this.room);
    const done = room.session.actions.faults().length + Object.keys(room.set).length;
    const choose = settings.map((setting) => {
      const current = room.set[setting.key] ?? valueAt(room.session.scenario, setting.key);
      const select = /** @type {HTMLSelectElement} */ (el('select', { class: 'input', on: { change: () => room.change(setting.key, setting.values[select.selectedIndex]) } },
        ...setting.values.map((value) => el('option', { text: worded(value), selected: JSON.stringify(value) === JSON.stringify(current) }))));
      return el('label', { class: 'field' }, setting.text, select);
    });
    const { attempt } = room;
    // Without a try there is nothing the lesson could say.
    const why = attempt && (attempt.tried ? attempt.why : t(done === 0 ? 'lesson.none' : done > budget ? 'lesson.many' : 'lesson.fixed', { done, budget }));
    return el('div', { class: 'lesson-goal' }, ...choose,
      el('p', { class: 'lesson-said', text: t('lesson.deeds', { done, budget }) }),
      el('div', { class: 'lesson-buttons' },
        el('button', { class: 'button primary', type: 'button', data: { lesson: 'try' }, text: t('lesson.try'), on: { click: () => { room.tryIt(); this.#focus('.lesson-verdict'); } } }),
        el('button', { class: 'button', type: 'button', data: { lesson: 'again' }, text: t('lesson.again'), on: { click: () => room.again() } })),
      attempt && el('div', { class: 'lesson-verdict', data: { right: String(attempt.right) }, tabindex: '-1' },
        el('h3', {}, icon(attempt.right ? 'check' : 'cross'), t(attempt.right ? 'lesson.reached' : 'lesson.missed', attempt)), el('p', {}, ...marked(why ?? '')),
        attempt.failed === null ? null : el('button', { class: 'button small', type: 'button', text: t('lesson.failure', { seed: attempt.failed }), on: { click: () => room.showFailure() } })));
  }

  /** What it is called, at the end. @param {T.LessonView} view @param {T.StepView} now */
  #end(view, now) {
    if (now.kind !== 'explain') return now.clause ? clauseButton(now.clause, placeOf(t('lesson.clause'))) : null;
    return el('div', { class: 'lesson-concept' }, el('h3', { text: t('lesson.concept') }), el('p', {}, ...marked(view.concept)), now.clause ? clauseButton(now.clause, t('lesson.clause')) : null);
  }

  /** @param {T.LessonView} view @param {number} step */
  #foot(view, step) {
    const room = /** @type {Classroom} */ (this.room);
    const last = step === view.steps.length - 1;
    // What is to be shown comes first: until then the same button leads there.
    const { awaits } = room;
    const later = room.asks || awaits || (room.now?.kind === 'goal' && !room.attempt?.right);
    const next = el('button', { class: `button${later ? '' : ' primary'}`, type: 'button', data: { lesson: 'next' }, disabled: room.asks, text: t(awaits ? 'lesson.skip' : last ? 'lesson.others' : 'lesson.next'), on: { click: () => (last ? this.list?.() : room.turn(1)) } });
    const back = el('button', { class: 'button', type: 'button', data: { lesson: 'back' }, disabled: step === 0, text: t('lesson.back'), on: { click: () => room.go(step - 1) } });
    const replay = room.now?.kind === 'reveal' && room.seen ? el('button', { class: 'button', type: 'button', data: { lesson: 'replay' }, text: t('lesson.replay'), on: { click: () => room.go(step) } }) : null;
    setAttr(next, 'title', room.asks ? t('lesson.first') : null);
    // A class has come to its end.
    return el('footer', { class: 'lesson-foot' }, back, replay, last && isLocked() ? null : next);
  }
}

/** @param {Answered} answered */
function verdict({ verdict: { right, truth, why } }) {
  return el('div', { class: 'lesson-verdict', data: { right: String(right) }, tabindex: '-1' },
    el('h3', {}, icon(right ? 'check' : 'cross'), t(right ? 'lesson.right' : 'lesson.wrong')),
    right ? null : el('p', { class: 'lesson-truth' }, ...marked(t('lesson.truth', { truth }))), el('p', {}, ...marked(why)));
}

/** @param {any} tree @param {string} way */
const valueAt = (tree, way) => way.split('.').reduce((at, step) => at?.[step], tree);

customElements.define('lesson-panel', LessonPanel);
