/**
 * What the page is about right now: the runs, the clock, the selection. Every
 * component listens to it and none to another.
 *
 * Events: `run` (another run), `frame` (time or state moved), `select`,
 * `view`, `play` (started, stopped, other speed), `notice`.
 */
import { isPanic, restart } from '#lab/core.js';
import { announce } from '#lab/dom.js';
import { Ease } from '#lab/ease.js';
import { clock } from '#lab/format.js';
import { isHidden } from '#lab/future.js';
import { linkTo } from '#lab/permalink.js';
import { nearestLoss } from '#lab/search.js';
import { tapeOf } from '#lab/run.js';
import { Sought } from '#lab/sought.js';
import { speak, storyOf, t, tell } from '#lab/strings.js';
import { ask, beside } from '#lab/whatif.js';

/** @import * as T from './types' */
/** @import { Run } from './run.js' */
/** @import { View } from './views.js' */
/** A fault and its moment. One that opened a branch says from which, any other on which it was; those of one act have its number. @typedef {T.AnyFault & {at: number, from?: number, on?: number, act?: number}} FaultAt */
/** One that is done again, or left out. @typedef {FaultAt & {gone?: boolean}} Done */

export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 300, 1000];

/** A recorded run is shown in about this time, if that is not too fast. */
const WATCHED_US = 20e6;
/** A longer silence between two frames is not caught up with. */
const GAP_MS = 500;
/** A fault happens so many microseconds after the moment it is done at. */
const AT_ONCE_US = 1;
/** What somebody does to a world is told as an event of these. */
const BEGIN = ['world', 'app', 'datagram'];
/** So many sentences say what came of it. */
const TOLD = 2;
/** After so many panics the page stays still. */
const PANICS = 3;
/** What the core may take of a frame. */
const SLICE_MS = 4;

/** @type {T.Selection} */
const NOTHING = Object.freeze({ node: null, ticket: null, name: '' });
/** What a world keeps while another is looked at. */
const KEPT = /** @type {const} */ (['run', 'other', 'scenario', 'preset', 'live', 'mode', 'title', 'text', 'speed', 'log', 'branch', 'twins', 'selection']);

export class Session extends EventTarget {
  /** @type {Run|null} */ run = null;
  /** The second run, when two are side by side. @type {Run|null} */ other = null;
  /** What is looked at. @type {View} */ view;
  /** How: one picture, two side by side, or the events as a table. @type {T.Mode} */ mode = 'single';
  playing = false;
  speed = 20;
  keys = true;
  ease = new Ease();
  /** Follow the newest event of a growing trace. */
  live = /** @type {null|{name: string, follow: boolean, lost: boolean}} */ (null);
  selection = NOTHING;
  preset = /** @type {string|null} */ (null);
  /** The scenario as it was opened; none for a trace. @type {T.Scenario|null} */
  scenario = null;
  title = '';
  text = '';
  /** What is looked for among the events, and what was found of it. */
  sought = new Sought();
  /** Nobody goes beyond this instant while something is asked about it. */
  limit = Infinity;
  /** The lesson one is in, and its step. @type {{id: string, step: number}|null} */
  lesson = null;
  #last = 0;
  #frame = 0;
  #moved = true;

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
    if (run.kind === 'trace') this.speed = SPEEDS.findLast((speed) => speed <= (run.end - run.origin) / WATCHED_US && speed <= this.view.speed) ?? SPEEDS[0];
    this.#show([run], this.scenario?.title ? storyOf(this.scenario) : { title, text: this.scenario?.text ?? '' });
    return run;
  }

  /**
   * Runs a scenario from its beginning, with the faults a user added to it.
   * @param {T.Scenario} scenario
   * @param {{preset?: string|null, faults?: Done[], branch?: number}} [how]
   */
  openScenario(scenario, how = {}) {
    // What the core makes of it has every field.
    const first = this.view.fromScenario(scenario);
    const whole = first.scenario;
    const runs = this.#runsOf(whole, first);
    this.live = null;
    this.scenario = whole;
    this.preset = how.preset ?? null;
    // Whoever changed a story has given it another name, or none.
    const { title, text } = scenario.title ? storyOf(scenario) : { title: t('scenario.changed'), text: scenario.text };
    this.#show(runs, { title, text });
    this.#replay(how.faults ?? [], how.branch);
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
    if (mode === 'compare' && !this.scenario && !(trace && this.log.length)) return this.notice(t('compare.trace'));
    const rebuild = this.scenario && (mode === 'compare' || this.other !== null) && mode !== 'events';
    this.mode = mode;
    if (rebuild && this.scenario && this.run && (mode === 'compare') !== (this.other !== null)) {
      const { preset, branch } = this;
      const at = this.run.now;
      this.openScenario(this.scenario, { preset, faults: this.log, branch });
      this.seek(at);
    }
    if (trace && mode !== 'events') beside(this, mode === 'compare');
    this.emit('view');
    this.touch();
  }

  /**
   * Shows the recording that is looked at in another view too; false where it
   * has nothing to show, or something else is kept there.
   * @param {View} view
   */
  bring(view) {
    const { run, live, title, speed, log, branch, undone } = this;
    if (run?.kind !== 'trace') return false;
    const tape = tapeOf(run.source);
    const kept = this.#kept.get(view.id);
    const same = kept?.run?.kind === 'trace' && kept.run.origin === run.origin;
    if (same || kept?.log.length || !tape.views().includes(view.id)) {
      tape.free();
      return false;
    }
    this.setView(view);
    this.openTape(tape, title);
    Object.assign(this, { live, speed, log, branch, undone });
    this.emit('play');
    return true;
  }

  /** Looks at another world; the one that was looked at waits as it is. @param {View} view true when it was looked at before */
  setView(view) {
    if (view === this.view) return true;
    this.pause();
    this.#kept.set(this.view.id, Object.fromEntries(KEPT.map((key) => [key, this[key]])));
    const before = this.#kept.get(view.id);
    const { run: left, log, branch, undone } = this;
    this.view = view;
    speak(view.strings, view.id);
    Object.assign(this, { run: null, other: null, scenario: null, preset: null, live: null, mode: 'single', title: '', text: '', speed: view.speed, log: [], branch: 0, twins: new Map(), selection: NOTHING }, before);
    this.#kept.delete(view.id);
    // A recording has the same branches in every view.
    if (left?.kind === 'trace' && this.run?.kind === 'trace' && left.origin === this.run.origin) {
      Object.assign(this, { log, branch, undone });
      this.run.useBranch(branch, this.run.now);
    }
    this.emit('run');
    this.emit('select');
    this.touch();
    return before !== undefined && this.run !== null;
  }
  /** Worlds that are not looked at. @type {Map<string, Record<string, any>>} */
  #kept = new Map();

  /** Side by side the same scenario runs in two ways. @param {T.Scenario} scenario @param {Run} plain */
  #runsOf(scenario, plain) {
    if (this.mode !== 'compare') return [plain];
    plain.free();
    return this.view.variants(scenario).map((way) => this.view.fromScenario(way.scenario));
  }

  /** @param {Run[]} runs @param {{title: string, text: string}} about */
  #show(runs, about) {
    // Another run may have as many events as the one before.
    this.#known = 0;
    this.runs().forEach((run) => run.free());
    [this.run, this.other = null] = runs;
    Object.assign(this, about);
    this.log = [];
    this.undone = [];
    this.branch = 0;
    this.twins = new Map();
    this.selection = NOTHING;
    this.pause();
    this.emit('run');
    this.emit('select');
    this.touch();
  }

  /** Does again what was done to a run, in the same order. Branches get new numbers when something is left out. @param {Done[]} log @param {number} [branch] */
  #replay(log, branch) {
    const now = new Map([[0, 0]]);
    let opened = 0;
    for (const { at, from, on = 0, gone, act, ...fault } of log) {
      const here = now.get(from ?? on) ?? 0;
      const id = from === undefined ? on : (opened += 1);
      now.set(id, here);
      if (gone) continue;
      this.useBranch(here);
      // Only where the future is known a fault opens a branch.
      if (from !== undefined) this.seek(at + 1);
      this.seek(at);
      this.inject(fault, act);
      now.set(id, this.branch);
    }
    if (branch !== undefined) this.useBranch(now.get(branch) ?? 0);
    if (log.length) this.seek(0);
  }

  /** Takes back what was done last. */
  undo() {
    const last = this.log.at(-1);
    if (!last) return this.notice(t('done.nothing'));
    const same = this.log.filter((fault) => together(fault, last));
    this.#again(this.log.map((fault) => (same.includes(fault) ? { ...fault, gone: true } : fault)), [...this.undone, ...same]);
    return this.notice(t('done.undone'));
  }

  /** Does again what was taken back last. */
  redo() {
    const last = this.undone.at(-1);
    if (!last) return this.notice(t('done.nothing.again'));
    const same = this.undone.filter((fault) => together(fault, last));
    this.#again([...this.log, ...same], this.undone.filter((fault) => !same.includes(fault)));
    this.useBranch(last.from === undefined ? last.on ?? 0 : Math.max(0, ...(this.run?.branches() ?? []).map((branch) => branch.id)));
    return this.notice(t('done.redone'));
  }

  /** Something that was done happens at another time, or not at all. @param {FaultAt} fault @param {number|null} at */
  change(fault, at) {
    this.#again(this.log.map((f) => (together(f, fault) ? { ...f, at: at ?? f.at, gone: at === null } : f)), []);
  }

  /** The same scenario with another list of what was done, at the same moment. @param {Done[]} log @param {FaultAt[]} undone */
  #again(log, undone) {
    const { scenario, preset, branch, run, selection } = this;
    if (!run) return;
    const { now } = run;
    if (scenario) this.openScenario(scenario, { preset, faults: log, branch });
    else {
      run.forget();
      Object.assign(this, { log: [], branch: 0 });
      this.#replay(log, branch);
    }
    this.seek(now);
    this.select(selection);
    this.undone = undone;
    this.emit('faults');
    this.emit('struck');
    this.touch();
  }
  /** What was taken back, the latest last. @type {FaultAt[]} */ undone = [];

  /** All that was done to this run, in order. @type {FaultAt[]} */ log = [];
  branch = 0;

  /** What was done on the branch in use, and before on those it came from. @returns {FaultAt[]} */
  faults() {
    /** @type {FaultAt[][]} */
    const done = [[]];
    for (const fault of this.log) {
      const on = fault.from === undefined ? fault.on ?? 0 : done.push([...done[fault.from] ?? []]) - 1;
      done[on]?.push(fault);
    }
    return done[this.branch] ?? [];
  }

  /** Where the timeline of all runs ends. */
  get end() { return Math.min(this.limit, Math.max(0, ...this.runs().map((run) => run.end))); }

  runs() { return /** @type {Run[]} */ ([this.run, this.other].filter(Boolean)); }

  /** Something changed: draw at the next frame. */
  touch() {
    this.#moved = true;
    if (!this.#frame) this.#frame = requestAnimationFrame((at) => this.#tick(at));
  }

  play() {
    if (!this.run) return;
    if (this.live) this.live.follow = false;
    if (this.run.now >= this.end) this.seek(this.run.origin);
    this.playing = true;
    this.#last = 0;
    this.emit('play');
    this.touch();
  }
  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.emit('play');
  }
  toggle() {
    if (!this.playing) return this.play();
    this.pause();
    return this.say();
  }

  /** @param {number} by */
  changeSpeed(by) {
    const i = SPEEDS.indexOf(this.speed) + by;
    this.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, i))];
    this.emit('play');
    announce(t('time.speed', { speed: this.speed }));
  }

  /** @param {number} us */
  seek(us) {
    if (!this.run) return;
    if (this.live) this.live.follow = false;
    const to = Math.min(this.limit, this.run.horizon, Math.max(this.run.origin, us));
    this.guard(() => this.runs().forEach((run) => run.raw.seek(to)));
    this.emit('play');
    this.touch();
  }

  /** @param {number} i */
  seekEvent(i) {
    const run = this.run;
    if (!run) return;
    if (this.live) this.live.follow = false;
    this.pause();
    this.guard(() => {
      run.raw.seekEvent(i);
      if (run.now > this.limit) run.raw.seek(this.limit);
      this.other?.raw.seek(run.now);
    });
    this.emit('play');
    this.touch();
    this.say();
  }

  /** @param {number} by @param {boolean} [ofSelection] */
  step(by, ofSelection = false) {
    const run = this.run;
    if (!run) return;
    if (this.live) this.live.follow = false;
    this.pause();
    const node = this.selection.node ?? (this.selection.ticket ? run.home.id : null);
    this.guard(() => {
      if (ofSelection && node !== null) run.raw.stepNode(node, by);
      else run.raw.step(by);
      if (run.now > this.limit) run.raw.seek(this.limit);
      this.other?.raw.seek(run.now);
    });
    this.emit('play');
    this.touch();
    this.say();
  }

  /** To the next event, or the one before, by which something is lost or a rule is broken. @param {1|-1} by */
  toLoss(by) {
    const run = this.run;
    if (!run) return undefined;
    if (by > 0 && isHidden()) return this.notice(t('time.loss.hidden'));
    const seq = nearestLoss(run, by);
    return seq === null ? this.notice(t(by > 0 ? 'time.loss.none' : 'time.loss.first')) : this.seekEvent(seq);
  }

  /** Looks for events; whatever else there is becomes pale. @param {string} query */
  find(query) {
    if (query.trim() === this.sought.query) return;
    this.sought.query = query.trim();
    this.emit('find');
    this.touch();
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
    this.touch();
  }

  /**
   * Breaks or nudges something. The future that was known is kept.
   * @param {string} gesture
   * @param {T.Selection} [target]
   */
  gesture(gesture, target = this.selection) {
    const run = this.run;
    if (!run) return;
    if (run.kind === 'trace') return ask(this, gesture);
    const action = this.view.action(gesture, target, this);
    if (!action) return this.notice(t(`${this.view.id}.gesture.none`));
    const before = run.branches().length;
    if (action.at !== undefined) {
      this.pause();
      this.seek(action.at);
    }
    let from = 0;
    try {
      const act = action.more?.length ? 1 + Math.max(0, ...this.log.map((fault) => fault.act ?? 0)) : undefined;
      for (const fault of [action.fault, ...action.more ?? []]) this.inject(fault, act);
      this.undone = [];
      from = run.index;
      // What is done at an instant can be seen right after it.
      this.seek(run.now + (action.past ?? AT_ONCE_US));
      run.refreshNodes();
    } catch (why) {
      return this.notice(t('gesture.failed', { why: why instanceof Error ? why.message : String(why) }), { bad: true });
    }
    this.notice(t('gesture.done', { gesture: t(action.said ?? `gesture.${gesture}`), name: action.name, branched: run.branches().length > before, then: this.#came(run, from) }));
    this.emit('faults');
    this.emit('struck');
    this.touch();
    return undefined;
  }

  /** What came of a fault at once, in a sentence or two. @param {Run} run @param {number} from */
  #came(run, from) {
    const came = new Set();
    const told = run.records(from, run.index - from, '').filter(({ seq, cause, event }) => {
      // Others may have happened at the same moment.
      if (cause === null ? BEGIN.some((area) => area in event) : came.has(cause)) came.add(seq);
      return came.has(seq) && !('conn' in event);
    });
    return [...new Set(told.map((record) => tell(this.named(record))))].slice(0, TOLD).join(' ');
  }

  /** A fault at this moment, in every run. @param {T.AnyFault} fault @param {number} [act] the number of the act it is a part of */
  inject(fault, act) {
    const { run, other } = this;
    if (!run) return;
    const before = run.branches().length;
    const from = this.branch;
    this.guard(() => {
      this.branch = run.fault(fault);
      if (other?.kind === 'scenario') this.twins.set(this.branch, other.fault(fault));
      run.refreshNodes();
    });
    const where = run.branches().length > before ? { from } : from > 0 ? { on: from } : {};
    this.log.push({ at: run.now, ...fault, ...where, ...(act === undefined ? {} : { act }) });
  }
  /** Which branch of the other run belongs to which of the first. @type {Map<number, number>} */
  twins = new Map();

  /** The branch after this one, or the first. */
  nextBranch() {
    const ids = this.run?.branches().map((b) => b.id) ?? [];
    if (ids.length > 1) this.useBranch(ids[(ids.indexOf(this.branch) + 1) % ids.length]);
  }

  /** Back to the branch this one left, at the moment it left. */
  parentBranch() {
    const here = this.run?.branches().find((b) => b.id === this.branch);
    if (!here || here.parent === null) return;
    this.useBranch(here.parent);
    this.seek(here.at);
  }

  /** @param {number} id */
  useBranch(id) {
    const run = this.run;
    if (!run || id === this.branch) return;
    const now = run.now;
    this.guard(() => {
      run.useBranch(id, now);
      this.other?.useBranch(this.twins.get(id) ?? 0, now);
      this.branch = id;
    });
    this.emit('faults');
    this.touch();
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
  #seen = { now: 0, index: 0 };
  /** @param {Error} error */
  async #panic(error) {
    this.pause();
    const { scenario, preset } = this;
    this.run = null;
    this.other = null;
    const link = await linkTo(this, { ...this.#seen, selected: this.selection.node, proof: [] });
    this.#panics += 1;
    restart();
    if (scenario && this.#panics <= PANICS) {
      this.openScenario(scenario, { preset });
      // Running ahead by itself would meet the same error again.
      for (const run of this.runs()) run.explored = true;
    }
    this.notice(t('app.panic', { why: error.message }), { bad: true, link: link ?? '' });
  }

  /** @param {number} at */
  #tick(at) {
    this.#frame = 0;
    const run = this.run;
    if (!run) return;
    const gap = this.#last ? at - this.#last : 0;
    this.#last = at;
    const index = run.index;
    if (this.live?.follow) this.guard(() => run.raw.seek(run.horizon));
    else if (this.playing) this.#advance(run, gap > GAP_MS ? 0 : gap);
    if (this.playing || this.live?.follow || this.#moved || run.index !== index) {
      this.#moved = false;
      if (this.run) {
        this.#seen = { now: this.run.now, index: this.run.index };
        this.guard(() => { if (!this.sought.look(this.runs(), [this.branch, this.twins.get(this.branch) ?? 0])) this.#moved = true; });
        this.emit('frame');
      }
    }
    const idle = this.run ? this.#explore() : true;
    if (this.playing || !idle || this.#moved) this.touch();
  }

  /** @param {Run} run @param {number} ms */
  #advance(run, ms) {
    const us = ms * 1000 * this.speed * this.ease.factor(run, this.speed, `${this.branch}|${this.log.length}`);
    const to = Math.min(this.end, this.view.ahead?.(this, us) ?? run.now + us);
    this.guard(() => {
      const reached = run.advance(to, SLICE_MS / this.runs().length);
      if (this.other) this.other.advance(reached, SLICE_MS / 2);
    });
    if (this.run && run.now >= this.end) this.pause();
  }

  /** Runs the future ahead while there is time; true when all is known. */
  #explore() {
    let done = true;
    const before = this.#known;
    this.guard(() => this.runs().forEach((run) => { done = run.explore(this.playing ? 1 : SLICE_MS / 2) && done; }));
    this.#known = this.run?.count ?? 0;
    if (this.#known !== before) this.emit('known');
    return done;
  }
  #known = 0;
}

/** Faults of one act are done, moved and taken back together. @param {FaultAt} a @param {FaultAt} b */
export const together = (a, b) => a === b || (a.act !== undefined && a.act === b.act);
