/**
 * What the page is about right now: the runs, the clock, the selection. Every
 * component listens to it and none to another.
 *
 * Events: `run` (another run), `frame` (time or state moved), `select`,
 * `view`, `play` (started, stopped, other speed), `notice`.
 */
import { announce, stillness } from './dom.js';
import { clock, host } from './format.js';
import { linkTo } from './permalink.js';
import { Run, loadCore, presets } from './run.js';
import { t, tell } from './strings.js';

/** @import * as T from './types' */
/** @typedef {T.Fault & {at: number}} FaultAt */

export const SPEEDS = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 300, 1000];

/** A longer silence between two frames is not caught up with. */
const GAP_MS = 500;
/** After so many panics the page stays still. */
const PANICS = 3;
/** What the core may take of a frame. */
const SLICE_MS = 4;

export class Session extends EventTarget {
  /** @type {Run|null} */ run = null;
  /** The second run of the side-by-side view. @type {Run|null} */ other = null;
  view = 'queue';
  playing = false;
  speed = 20;
  keys = true;
  /** Follow the newest event of a growing trace. */
  live = /** @type {null|{name: string, follow: boolean, lost: boolean}} */ (null);
  selection = /** @type {T.Selection} */ ({ node: null, ticket: null, name: '' });
  preset = /** @type {string|null} */ (null);
  /** The scenario as it was opened; none for a trace. @type {T.Scenario|null} */
  scenario = null;
  title = '';
  text = '';
  /** Who holds which place, as far as the boards have said. @type {Map<string, string>} */
  names = new Map();
  #last = 0;
  #frame = 0;
  #moved = true;

  /** @param {string} type @param {unknown} [detail] */
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  /** @param {string} sentence @param {{bad?: boolean, link?: string}} [how] */
  notice(sentence, how = {}) {
    this.emit('notice', { sentence, ...how });
    announce(sentence);
  }

  /**
   * Shows a trace.
   * @param {Uint8Array} bytes
   * @param {string} title
   */
  openTrace(bytes, title) {
    const run = Run.fromTrace(bytes);
    // A file exported from a scenario carries it and can be played with.
    this.scenario = run.scenario;
    this.preset = null;
    this.live = null;
    if (this.view === 'compare') this.view = 'queue';
    this.#show([run], { title: this.scenario?.title || title, text: this.scenario?.text ?? '' });
    return run;
  }

  /**
   * Runs a scenario from its beginning, with the faults a user added to it.
   * @param {T.Scenario} scenario
   * @param {{preset?: string|null, faults?: FaultAt[]}} [how]
   */
  openScenario(scenario, how = {}) {
    // What the core makes of it has every field.
    const first = Run.fromScenario(scenario);
    const whole = first.scenario;
    const runs = this.#runsOf(whole, first);
    this.live = null;
    this.scenario = whole;
    this.preset = how.preset ?? null;
    this.#show(runs, { title: scenario.title || t('scenario.changed'), text: scenario.text });
    for (const { at, ...fault } of how.faults ?? []) {
      this.seek(at);
      this.inject(fault);
    }
    if (how.faults?.length) this.seek(0);
  }

  /** @param {string} id */
  openPreset(id) {
    const found = presets().find((p) => p.id === id);
    if (!found) return false;
    // A story told in two variants is told side by side.
    if (found.scenario.variants?.length) this.view = 'compare';
    this.openScenario(found.scenario, { preset: id });
    return true;
  }

  /** @param {string} view */
  setView(view) {
    if (view === this.view) return;
    if (view === 'compare' && !this.scenario) return this.notice(t('compare.trace'));
    const rebuild = this.scenario && (view === 'compare' || this.view === 'compare');
    this.view = view;
    if (rebuild && this.scenario && this.run) {
      const { preset } = this;
      const at = this.run.now;
      this.openScenario(this.scenario, { preset, faults: this.faults() });
      this.seek(at);
    }
    this.emit('view');
    this.touch();
  }

  /** The side-by-side view runs the same arrivals under both languages. @param {T.Scenario} scenario @param {Run} plain */
  #runsOf(scenario, plain) {
    if (this.view !== 'compare') return [plain];
    plain.raw.free();
    return dialects(scenario).map((dialect) => Run.fromScenario(speak(scenario, dialect)));
  }

  /** @param {Run[]} runs @param {{title: string, text: string}} about */
  #show(runs, about) {
    this.runs().forEach((run) => run.raw.free());
    [this.run, this.other = null] = runs;
    Object.assign(this, about);
    this.names.clear();
    this.#faults.clear();
    this.branch = 0;
    this.selection = { node: null, ticket: null, name: '' };
    this.pause();
    this.emit('run');
    this.emit('select');
    this.touch();
  }

  /** What the user did on the branch in use. */
  faults() { return this.#faults.get(this.branch) ?? []; }
  branch = 0;
  /** @type {Map<number, FaultAt[]>} */
  #faults = new Map();

  /** Where the timeline of all runs ends. */
  get end() { return Math.max(0, ...this.runs().map((run) => run.end)); }

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
    const to = Math.min(this.run.horizon, Math.max(this.run.origin, us));
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
    const node = this.selection.node ?? (this.selection.ticket ? run.server.id : null);
    this.guard(() => {
      if (ofSelection && node !== null) run.raw.stepNode(node, by);
      else run.raw.step(by);
      this.other?.raw.seek(run.now);
    });
    this.emit('play');
    this.touch();
    this.say();
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

  /**
   * Remembers what a client is called. In a simulated world every client has
   * an address of its own; in a recorded one many may share an address.
   * @param {string|null} ticket
   * @param {string} peer
   * @param {string} name
   */
  know(ticket, peer, name) {
    if (ticket) this.names.set(ticket, name);
    this.names.set(this.run?.kind === 'trace' ? peer : host(peer), name);
  }

  /** @param {string} ticket @param {string} peer */
  nameOf(ticket, peer) {
    const alone = this.run?.kind !== 'trace';
    return this.names.get(ticket) ?? this.names.get(alone ? host(peer) : peer) ?? null;
  }

  /** Who holds a place: found where it was given. @param {string} ticket @param {T.LabRecord} record */
  #holder(ticket, record) {
    const given = this.run?.records(0, 1, `"arrived" ${ticket}`)[0] ?? record;
    const peer = String(Object.values(given.event)[0].peer);
    const name = given.who ?? this.nameOf('', peer) ?? (peer === 'undefined' ? null : peer);
    if (name) this.names.set(ticket, name);
    return name;
  }

  /** Adds the name of the client a record is about, when a board said it. @param {T.LabRecord} record */
  named(record) {
    const { ticket, peer } = Object.values(record.event)[0];
    // What happens to one client may be caused by another: the place says whose it is.
    if (typeof ticket === 'string') record.who = this.names.get(ticket) ?? this.#holder(ticket, record);
    else record.who ??= this.nameOf('', String(peer));
    const [body] = Object.values(record.event);
    if (typeof body.other === 'number') body.other = this.run?.node(body.other)?.name ?? body.other;
    return record;
  }

  /** @param {T.Selection} selection */
  select(selection) {
    this.selection = selection;
    this.emit('select');
    this.touch();
  }

  /**
   * Breaks or nudges something, now. The future that was known is kept.
   * @param {string} gesture
   * @param {T.Selection} [target]
   */
  gesture(gesture, target = this.selection) {
    const run = this.run;
    if (!run) return;
    if (run.kind === 'trace') return this.notice(t('gesture.trace'));
    const node = target.node ?? (gesture === 'restart' ? run.server.id : null);
    if (node === null) return this.notice(t('gesture.none'));
    const before = run.branches().length;
    this.inject(faultOf(gesture, node, run.server.id));
    const named = gesture === 'restart' && node === run.server.id ? 'gesture.restart.server' : `gesture.${gesture}`;
    announce(t('gesture.done', { gesture: t(named), name: run.node(node)?.name ?? '', branched: run.branches().length > before }));
    this.emit('faults');
    this.touch();
  }

  /** A fault at this moment, in every run. @param {T.Fault} fault */
  inject(fault) {
    const run = this.run;
    if (!run) return;
    const past = this.faults();
    this.guard(() => {
      this.branch = run.fault(fault);
      this.other?.fault(fault);
      run.refreshNodes();
    });
    this.#faults.set(this.branch, [...past, { at: run.now, ...fault }]);
  }

  /** True when the selection was stalled on this branch and goes on no more. */
  stalled() {
    const node = this.selection.node;
    const last = this.faults().findLast((f) => (f.stall ?? f.resume)?.node === node);
    return Boolean(last?.stall);
  }

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
    if (!run) return;
    const now = run.now;
    this.guard(() => {
      run.raw.useBranch(id);
      run.raw.seek(now);
      run.explored = false;
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
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
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
    await loadCore();
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
        this.emit('frame');
      }
    }
    const idle = this.run ? this.#explore() : true;
    if (this.playing || !idle || this.#moved) this.touch();
  }

  /** @param {Run} run @param {number} ms */
  #advance(run, ms) {
    const to = Math.min(this.end, run.now + ms * 1000 * this.speed);
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

/**
 * The two languages of the side-by-side view.
 * @param {T.Scenario} scenario
 * @returns {[T.DialectName, T.DialectName]}
 */
export function dialects(scenario) {
  const [a, b] = scenario.variants ?? [];
  return [a?.dialect ?? 'active', b?.dialect ?? 'parq'];
}

/** The same arrivals with everybody speaking one language. @param {T.Scenario} scenario @param {T.DialectName} dialect @returns {T.Scenario} */
function speak(scenario, dialect) {
  return { ...scenario, clients: scenario.clients.map((group) => ({ ...group, dialect })) };
}

/** Ten minutes. */
const SLEEP_US = 600e6;

/** @param {string} gesture @param {number} node @param {number} server @returns {T.Fault} */
function faultOf(gesture, node, server) {
  if (gesture === 'cut') return { cut: { a: server, b: node } };
  if (gesture === 'sleep') return { sleep: { node, length: SLEEP_US } };
  return { [gesture]: { node } };
}

/** Motion starts by itself only where the user did not ask for stillness. */
export const mayAutoplay = () => !stillness();
