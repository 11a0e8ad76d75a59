/**
 * The lesson a learner is in: which step, what was answered, and what the core
 * says to it. It moves the session as a step wants it; what is right is never
 * known here before the core is asked.
 *
 * Events: `step` (another step, or none), `reply` (something was answered or changed),
 * `answer` (a commit or an attempt, and whether it was right).
 */
import { Lesson } from '#servent';
import { stillness } from '#lab/dom.js';
import { Pace } from '#lab/session/ease.js';
import { language } from '#lab/language.js';
import { recall, remember } from '#lab/theme.js';
import { keepAnswer } from '#lab/lesson/answers.js';
import { inWords } from '#lab/lesson/commits.js';
import { deedsInWords } from '#lab/lesson/deeds.js';
import { names } from '#lab/lesson/marks.js';
import { t } from '#lab/strings.js';
import { viewOf } from '#lab/views.js';
import { SPEEDS } from '#lab/session/clock.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session/session.js' */
/** @typedef {{reply: T.QuestionReply, verdict: T.AnswerVerdict}} Answered */

/** What is to be seen is shown in about this time. */
const SHOWN_US = 9e6;
/** Steps in which the learner may change the world, so that the others have one of their own. */
const OWN = ['goal', 'free'];
/** Steps in which the learner must answer before going on. */
const ASKING = ['predict', 'exit'];

export class Classroom extends EventTarget {
  /** @type {Lesson|null} */ lesson = null;
  /** @type {T.LessonView|null} */ view = null;
  step = 0;
  /** When this step has shown what was asked before; null where only its end does. @type {number|null} */ decided = null;
  /** What was answered, by step. @type {Map<number, Answered>} */ answers = new Map();
  /** How the last attempt at a goal went. @type {T.GoalAttempt|null} */ attempt = null;
  /** Settings that were changed to reach a goal. @type {Record<string, any>} */ set = {};
  /** The world that is looked at belongs to this step. */
  #world = '';
  #moving = false;
  /** When the step began, for how long an answer took. */
  #since = 0;

  /** @param {Session} session */
  constructor(session) {
    super();
    this.session = session;
    session.addEventListener('run', () => {
      // A person who opens something else has left the lesson; the same world, side by side, is still it.
      if (this.view && !this.#moving && (session.view.id !== this.view.view || session.scenario?.id !== this.#id)) this.leave();
    });
  }
  #id = '';

  /** The lesson is the teacher's own, from a file. */
  own = false;

  get now() { return this.view?.steps[this.step] ?? null; }

  /** Something is asked here that was not answered yet. */
  get asks() { return this.now !== null && ASKING.includes(this.now.kind) && !this.answers.has(this.step); }

  /** Nothing may be seen of what lies ahead. */
  get hides() { return this.asks; }

  /** The question that was asked last, and what was said to it. */
  get before() {
    for (let i = this.step; i >= 0; i -= 1) {
      const found = this.answers.get(i);
      if (found && this.view?.steps[i].kind === 'predict') return found;
    }
    return null;
  }

  /** What was asked before has been shown in this step, so that it can be judged. */
  get seen() {
    const { run, clock: { end } } = this.session;
    // A world may come to rest before that.
    this.#saw ||= run !== null && run.now >= Math.min(this.decided ?? this.now?.until ?? 0, end);
    return this.#saw;
  }
  #saw = false;

  /** A verdict waits in this step for what is shown. */
  get awaits() { return this.now?.kind === 'reveal' && this.before !== null && !this.seen; }

  /** What is shown in this step has been shown to its end. */
  get #over() {
    const { run, clock: { end } } = this.session;
    return run !== null && run.now >= Math.min(this.now?.until ?? 0, end);
  }

  /**
   * Begins a lesson, or comes back to a step of it.
   * @param {string} id
   * @param {number} [step]
   * @returns {Promise<boolean>} whether there is such a lesson
   */
  async open(id, step = 0) {
    const lesson = this.view?.id === id ? this.lesson : Lesson.find(id, language()) ?? null;
    if (!lesson) return false;
    return this.begin(lesson, step, false);
  }

  /** @param {Lesson} lesson @param {number} [step] @param {boolean} [own] */
  async begin(lesson, step = 0, own = true) {
    this.own = own;
    if (lesson !== this.lesson) {
      this.lesson?.free();
      this.answers.clear();
      this.#decisions.clear();
      this.#world = '';
    }
    this.lesson = lesson;
    this.view = lesson.view();
    const view = await viewOf(this.view.view);
    this.#moving = true;
    this.session.setView(view);
    this.#moving = false;
    this.go(Math.min(Math.max(0, step), this.view.steps.length - 1));
    return true;
  }

  /** @param {number} step */
  go(step) {
    const { session, lesson, view } = this;
    if (!lesson || !view?.steps[step]) return;
    const shown = this.#ahead(step);
    this.step = step;
    this.#since = performance.now();
    this.attempt = null;
    this.set = {};
    const { at, kind } = view.steps[step];
    this.#saw = false;
    this.decided = kind === 'reveal' && this.before ? this.#decision(step) : null;
    const wanted = `${view.id}/${view.steps[step].other_world || OWN.includes(kind) ? step : 'own'}`;
    session.clock.limit = Infinity;
    session.clock.mark = this.decided ?? Infinity;
    session.clock.halt = Infinity;
    const fresh = this.#world !== wanted;
    // Who goes on before its end still sees the rest.
    if (shown !== null && !fresh && at === null) session.clock.halt = shown;
    else session.clock.pace = null;
    if (fresh) this.#stage({});
    this.#world = wanted;
    // A learner who comes by a link has seen what was shown before.
    // One plays where the scene will be, with something there to play with.
    const from = at ?? (kind === 'free' ? view.steps.slice(step).find((one) => one.at !== null)?.at ?? null : kind === 'reveal' ? this.#asked(step) : fresh ? view.steps.slice(0, step).findLast((one) => one.until !== null)?.until ?? null : null);
    if (from !== null) session.clock.seek(from);
    this.#limit();
    if (kind === 'reveal') this.show();
    this.#remember();
    session.lesson = { id: view.id, step, names: names(view.steps[step].text) };
    this.dispatchEvent(new Event('step'));
    session.emit('lesson');
  }

  /** On, and back; but first to the verdict that waits. @param {number} by */
  turn(by) {
    if (by > 0 && this.awaits) return this.session.clock.seek(this.decided ?? this.now?.until ?? 0);
    return this.go(this.step + by);
  }

  /** The end of what is still being shown when one goes on to a step. @param {number} step */
  #ahead(step) {
    const { now, session: { clock } } = this;
    if (step <= this.step) return null;
    if (now?.kind === 'reveal') return this.#over ? null : now.until;
    return Number.isFinite(clock.halt) && this.session.run !== null && this.session.run.now < clock.halt ? clock.halt : null;
  }

  /** When a step has shown what was asked; a run of its world says so, once. @param {number} step */
  #decision(step) {
    if (!this.#decisions.has(step)) this.#decisions.set(step, this.lesson?.decided(step) ?? null);
    return this.#decisions.get(step) ?? null;
  }
  /** @type {Map<number, number|null>} */ #decisions = new Map();

  /** Where the last question stood. @param {number} step */
  #asked(step) { return this.view?.steps.slice(0, step).findLast((one) => one.at !== null)?.at ?? null; }

  /** Opens the world of this step. @param {Partial<T.StageTweak>} tweak @param {any[]} [faults] */
  #stage(tweak, faults = []) {
    const { session, lesson } = this;
    if (!lesson) return;
    const scenario = lesson.scenario(this.step, tweak);
    // What will be asked about does not happen while one plays: nothing breaks but by one's own hand.
    if (this.now?.kind === 'free' && 'faults' in scenario) scenario.faults = [];
    this.#moving = true;
    session.mode = 'single';
    session.openScenario(scenario, { preset: this.now?.other_world ? null : this.view?.preset ?? null, faults });
    session.view.opened?.(session);
    this.#moving = false;
    this.#id = session.scenario?.id ?? '';
  }

  /** No learner gets past what is asked, or what is to be shown. */
  #limit() {
    const { now, session } = this;
    session.clock.limit = (this.asks ? now?.at : now?.kind === 'reveal' ? now.until : null) ?? Infinity;
  }

  /** Plays what is to be seen, so fast that no learner waits long. */
  show() {
    const { now, session } = this;
    const until = now?.until;
    if (!session.run || until === null || until === undefined || this.#over) return;
    if (stillness()) return session.clock.seek(until);
    const speed = (until - session.run.now) / SHOWN_US;
    session.clock.speed = SPEEDS.findLast((one) => one <= speed) ?? SPEEDS[0];
    const { run } = session;
    session.guard(() => { session.clock.pace = Pace.of(run, until); });
    session.clock.play();
  }

  /** Commits to an answer; the core says what it is worth. @param {T.QuestionReply} reply */
  commit(reply) {
    if (!this.lesson) return;
    const verdict = this.lesson.judge(this.step, reply);
    this.answers.set(this.step, { reply, verdict });
    this.#limit();
    this.#remember();
    this.#answered(inWords(reply, this.now?.task?.question ?? undefined), verdict.right);
    this.session.emit('lesson');
    this.session.clock.touch();
  }

  /** What a learner said, or did to reach a goal, is kept and told. @param {string} said @param {boolean} right */
  #answered(said, right) {
    const { view, now } = this;
    if (!view || !now) return;
    const step = this.step + 1;
    keepAnswer({ lesson: view.id, title: view.title, step, kind: now.kind, said, right, seconds: Math.round((performance.now() - this.#since) / 1000) });
    this.dispatchEvent(new Event('reply'));
    this.dispatchEvent(new CustomEvent('answer', { detail: { lesson: view.id, step, right } }));
  }

  /** Changes a setting to reach a goal; what was done before is undone. @param {string} key @param {any} value */
  change(key, value) {
    this.set = { ...this.set, [key]: value };
    this.#stage({ set: this.set });
    this.attempt = null;
    this.dispatchEvent(new Event('reply'));
  }

  /** Tries with many seeds whether what was done reaches the goal. */
  tryIt() {
    if (!this.lesson) return;
    const acts = this.session.actions.faults().map(({ from, on, act, ...fault }) => fault);
    const attempt = this.lesson.attempt(this.step, { acts, set: this.set });
    const [n, budget] = [acts.length + Object.keys(this.set).length, this.now?.task?.goal?.budget ?? 0];
    const none = attempt.tried > 0 ? '' : n === 0 ? 'lesson.attempt.none' : n > budget ? 'lesson.attempt.many' : '';
    this.attempt = none ? { ...attempt, why: t(none, { n, budget }) } : attempt;
    this.#remember();
    // Where nothing was done, nothing was tried.
    if (n === 0) this.dispatchEvent(new Event('reply'));
    else this.#answered(deedsInWords({ acts, set: this.set }, this.now?.task?.goal?.settings ?? [], this.session.run).join('; '), attempt.right);
  }

  /** Begins this step's world anew. */
  again() {
    this.set = {};
    this.attempt = null;
    this.#stage({});
    if (this.now?.at) this.session.clock.seek(this.now.at);
    this.dispatchEvent(new Event('step'));
  }

  /** Shows the smallest case in which an attempt failed. */
  showFailure() {
    const seed = this.attempt?.failed;
    if (seed === null || seed === undefined) return;
    const faults = this.session.actions.faults();
    this.#stage({ set: this.set, seed }, faults);
    this.session.clock.play();
  }

  leave() {
    this.lesson?.free();
    Object.assign(this, { lesson: null, view: null, step: 0, attempt: null });
    this.answers.clear();
    this.#world = '';
    Object.assign(this.session.clock, { limit: Infinity, mark: Infinity, halt: Infinity });
    this.session.lesson = null;
    this.dispatchEvent(new Event('step'));
    this.session.emit('lesson');
  }

  /** How far one has come is kept in this browser alone. */
  #remember() {
    const { view } = this;
    if (!view) return;
    const last = view.steps.length - 1;
    const done = this.step === last && this.answers.get(last)?.verdict.right;
    if (done) remember(`lesson.${view.id}`, 'done');
    else if (recall(`lesson.${view.id}`) !== 'done') remember(`lesson.${view.id}`, String(this.step));
  }
}

/** How far one has come in a lesson: `done`, a step, or nothing. @param {string} id */
export const progress = (id) => recall(`lesson.${id}`);
