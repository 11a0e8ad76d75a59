/**
 * What the page is about right now: the runs, the clock, the selection. Every
 * component listens to it and none to another.
 *
 * Events: `run` (another run), `frame` (time or state moved), `select`,
 * `view`, `play` (started, stopped, other speed), `notice`.
 */
import { isPanic, restart } from '#lab/core.js';
import { announce } from '#lab/dom.js';
import { clock } from '#lab/format.js';
import { linkTo } from '#lab/permalink.js';
import { Actions, NO_ACTIONS } from '#lab/session/actions.js';
import { Clock, SPEEDS } from '#lab/session/clock.js';
import { tapeOf } from '#lab/session/run.js';
import { Sought } from '#lab/session/sought.js';
import { beside } from '#lab/session/whatif.js';
import { speak, storyOf, t, tell } from '#lab/strings.js';

/** @import * as T from '../types' */
/** @import { Done } from './actions.js' */
/** @import { Run } from './run.js' */
/** @import { View } from '../views.js' */

/** A recorded run is shown in about this time, if that is not too fast. */
const WATCHED_US = 20e6;
/** After so many panics the page stays still. */
const PANICS = 3;

/** @type {T.Selection} */
const NOTHING = Object.freeze({ node: null, ticket: null, name: '' });
/** What a world keeps while another is looked at. */
const KEPT = /** @type {const} */ (['run', 'other', 'scenario', 'preset', 'live', 'mode', 'title', 'text', 'selection']);

export class Session extends EventTarget {
  /** @type {Run|null} */ run = null;
  /** The second run, when two are side by side. @type {Run|null} */ other = null;
  /** What is looked at. @type {View} */ view;
  /** How: one picture, two side by side, or the events as a table. @type {T.Mode} */ mode = 'single';
  keys = true;
  /** Follow the newest event of a growing trace. */
  live = /** @type {null|{name: string, follow: boolean, lost: boolean}} */ (null);
  selection = NOTHING;
  preset = /** @type {string|null} */ (null);
  /** The scenario as it was opened; none for a trace. @type {T.Scenario|null} */
  scenario = null;
  title = '';
  text = '';
  clock = new Clock(this);
  actions = new Actions(this);
  /** What is looked for among the events, and what was found of it. */
  sought = new Sought();
  /** The lesson one is in, its step, and the nodes that is about. @type {{id: string, step: number, names: string[]}|null} */
  lesson = null;
  /** @param {View} view */

  constructor(view) {
    super();
    this.view = view;
    speak(view.strings, view.id);
  }

  /** @param {string} type @param {unknown} [detail] */
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
  /** @param {string} sentence @param {{bad?: boolean, link?: string, stop?: {text: string, run: () => void}}} [how] `stop`: what can be given up */
  notice(sentence, how = {}) {
    this.emit('notice', { sentence, ...how });
    announce(sentence);
  }

  /**
   * Shows a tape.
   * @param {import('#servent').Tape | import('#servent').Tapes} tape
   * @param {string} title
   * @param {ReturnType<import('#servent').Tape['world']>} [world] what it is a file of, when that is a simulated world
   */
  openTape(tape, title, world) {
    const run = world ? this.view.fromWorld(world) : this.view.fromTape?.(tape);
    if (!run) throw new Error(t('trace.elsewhere'));
    if (run.source !== tape) tape.free();
    // A file exported from a scenario carries it and can be played with.
    this.scenario = run.scenario;
    this.preset = null;
    this.live = null;
    if (this.mode === 'compare') this.mode = 'single';
    // Seconds of a real run would be over before one has looked.
    if (run.kind === 'trace' && run.end > run.origin) this.clock.speed = SPEEDS.findLast((speed) => speed <= (run.end - run.origin) / WATCHED_US && speed <= this.view.speed) ?? SPEEDS[0];
    this.#show([run], this.scenario?.title ? storyOf(this.scenario) : { title, text: this.scenario?.text ?? '' });
    return run;
  }

  /**
   * Runs a scenario from its beginning, with the faults a user added to it.
   * @param {T.Scenario} scenario
   * @param {{preset?: string|null, faults?: Done[], branch?: number, beside?: boolean}} [how] `beside`: the branch next to the one it left
   */
  openScenario(scenario, how = {}) {
    // What the core makes of it has every field.
    const first = this.view.fromScenario(scenario);
    const whole = first.scenario;
    // The speed of a recording is that of no story.
    if (this.run?.kind === 'trace') this.clock.speed = this.view.speed;
    const beside = this.mode === 'compare' && (how.beside ?? false);
    const runs = this.#runsOf(whole, first, beside);
    this.live = null;
    this.scenario = whole;
    this.preset = how.preset ?? null;
    // A person who changed a story has given it another name, or none.
    const { title, text } = scenario.title ? storyOf(scenario) : { title: t('scenario.changed'), text: scenario.text };
    this.#show(runs, { title, text });
    this.actions.replay(how.faults ?? [], how.branch);
    this.actions.beside = beside;
    if (beside) this.actions.standBeside();
  }

  /** @param {string} id */
  openPreset(id) {
    const found = this.view.presets().find((p) => p.id === id);
    if (!found) return false;
    // A story told in two variants is told side by side.
    this.mode = this.view.variants(found.scenario, true).length ? 'compare' : this.mode === 'compare' ? 'single' : this.mode;
    this.openScenario(found.scenario, { preset: id });
    this.view.opened?.(this);
    return true;
  }

  /** @param {T.Mode} mode */
  setMode(mode) {
    if (mode === this.mode) return;
    const trace = this.run?.kind === 'trace';
    if (mode === 'compare' && !this.scenario && !(trace && this.actions.log.length)) return this.notice(t('compare.trace'));
    const rebuild = this.scenario && (mode === 'compare' || this.other !== null) && mode !== 'events';
    this.mode = mode;
    if (rebuild && this.scenario && this.run && (mode === 'compare') !== (this.other !== null)) {
      const { preset } = this;
      const { branch } = this.actions;
      const at = this.run.now;
      this.openScenario(this.scenario, { preset, faults: this.actions.log, branch, beside: branch > 0 });
      this.clock.seek(at);
    }
    if (trace && mode !== 'events') beside(this, mode === 'compare');
    this.emit('view');
    this.clock.touch();
  }

  /**
   * Shows the recording that is looked at in another view too; false where it
   * has nothing to show, or something else is kept there.
   * @param {View} view
   */
  bring(view) {
    const { run, live, title } = this;
    const { speed } = this.clock;
    const done = this.actions.state();
    if (run?.kind !== 'trace') return false;
    const tape = tapeOf(run.source);
    const kept = this.#kept.get(view.id);
    const same = kept?.run?.kind === 'trace' && kept.run.origin === run.origin;
    if (same || kept?.actions.log.length || !tape.views().includes(view.id)) {
      tape.free();
      return false;
    }
    this.setView(view);
    this.openTape(tape, title);
    this.live = live;
    this.clock.speed = speed;
    this.actions.restore(done);
    this.emit('play');
    return true;
  }

  /** Looks at another world; the one that was looked at waits as it is. @param {View} view true when it was looked at before */
  setView(view) {
    if (view === this.view) return true;
    this.clock.pause();
    const { run: left } = this;
    const done = this.actions.state();
    this.#kept.set(this.view.id, { ...Object.fromEntries(KEPT.map((key) => [key, this[key]])), speed: this.clock.speed, actions: done });
    const before = this.#kept.get(view.id);
    this.view = view;
    speak(view.strings, view.id);
    const { speed = view.speed, actions = NO_ACTIONS, ...world } = before ?? {};
    Object.assign(this, { run: null, other: null, scenario: null, preset: null, live: null, mode: 'single', title: '', text: '', selection: NOTHING }, world);
    this.clock.speed = speed;
    this.actions.restore(actions);
    this.#kept.delete(view.id);
    // A recording has the same branches in every view.
    if (left?.kind === 'trace' && this.run?.kind === 'trace' && left.origin === this.run.origin) {
      this.actions.restore(done);
      this.run.useBranch(done.branch, this.run.now);
    }
    this.emit('run');
    this.emit('select');
    this.clock.touch();
    return before !== undefined && this.run !== null;
  }
  /** Worlds that are not looked at. @type {Map<string, Record<string, any>>} */
  #kept = new Map();
  /** Side by side the same scenario runs in two ways. @param {T.Scenario} scenario @param {Run} plain */
  #runsOf(scenario, plain, beside = false) {
    if (this.mode !== 'compare') return [plain];
    if (beside) return [plain, this.view.fromScenario(scenario)];
    plain.free();
    return this.view.variants(scenario).map((way) => Object.assign(this.view.fromScenario(way.scenario), { way: way.name }));
  }

  /** @param {Run[]} runs @param {{title: string, text: string}} about */
  #show(runs, about) {
    // Another run may have as many events as the one before.
    this.clock.known = 0;
    this.runs().forEach((run) => run.free());
    [this.run, this.other = null] = runs;
    Object.assign(this, about);
    this.actions.restore(NO_ACTIONS);
    this.clock.pace = null;
    this.selection = NOTHING;
    this.clock.pause();
    this.emit('run');
    this.emit('select');
    this.clock.touch();
  }

  runs() { return /** @type {Run[]} */ ([this.run, this.other].filter(Boolean)); }
  /** Looks for events; whatever else there is becomes pale. @param {string} query */
  find(query) {
    if (query.trim() === this.sought.query) return;
    this.sought.query = query.trim();
    this.emit('find');
    this.clock.touch();
  }

  /** One sentence into the live region: what the newest event says. */
  say() {
    const record = this.current();
    if (record) announce(`${clock(record.at - (this.run?.origin ?? 0))}: ${tell(record)}`);
  }

  /** The newest record at or before now. @returns {T.LabRecord|null} */
  current() {
    const run = this.run;
    if (!run || run.index === 0) return null;
    return this.named(run.record(run.index - 1));
  }

  /** Adds to a record what only the view knows. @param {T.LabRecord} record */
  named(record) { return this.run ? this.run.named(record) : record; }
  /** @param {T.Selection} selection */
  select(selection) {
    this.selection = selection;
    this.emit('select');
    this.clock.touch();
  }

  /** Runs something of the core; a panic loads it afresh and keeps a link. @param {() => void} work */
  guard(work) {
    try {
      work();
    } catch (error) {
      if (!isPanic(error)) throw error;
      this.#panic(error);
    }
  }
  #panics = 0;
  /** The last moment that was drawn. */
  drawn = { now: 0, index: 0 };
  /** @param {Error} error */
  async #panic(error) {
    this.clock.pause();
    const { scenario, preset } = this;
    this.run = null;
    this.other = null;
    const link = await linkTo(this, { ...this.drawn, selected: this.selection.node, proof: [] });
    this.#panics += 1;
    restart();
    if (scenario && this.#panics <= PANICS) {
      this.openScenario(scenario, { preset });
      // Running ahead by itself would meet the same error again.
      for (const run of this.runs()) run.explored = true;
    }
    this.notice(t('app.panic', { why: error.message }), { bad: true, link: link ?? '' });
  }
}
