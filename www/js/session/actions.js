/**
 * What the user did to the run: faults and nudges in their order, the branches
 * they opened, and how they are taken back. Of a recording it is what was asked.
 */
import { t, tell } from '#lab/strings.js';
import { ask } from '#lab/session/whatif.js';

/** @import * as T from '../types' */
/** @import { Run } from './run.js' */
/** @import { Session } from './session.js' */
/** A fault and its moment. One that opened a branch says from which, any other on which it was; those of one act have its number. @typedef {T.AnyFault & {at: number, from?: number, on?: number, act?: number}} FaultAt */
/** One that is done again, or left out. @typedef {FaultAt & {gone?: boolean}} Done */
/** What was done to a world, and the branch in use. @typedef {{log: FaultAt[], undone: FaultAt[], branch: number, twins: Map<number, number>, beside: boolean}} State */

/** A fault happens so many microseconds after the moment it is done at. */
const AT_ONCE_US = 1;
/** What the user does to a world is told as an event of these. */
const BEGIN = ['world', 'app', 'datagram'];
/** So many sentences say what came of it. */
const TOLD = 2;

/** Nothing was done. @type {Readonly<State>} */
export const NO_ACTIONS = Object.freeze({ log: [], undone: [], branch: 0, twins: new Map(), beside: false });

export class Actions {
  /** @param {Session} session */
  constructor(session) { this.session = session; }

  /** All of it, for a world that is left. @returns {State} */
  state() {
    const { log, undone, branch, twins, beside } = this;
    return { log, undone, branch, twins, beside };
  }

  /** What was kept of a world that is looked at again. @param {Readonly<State>} state */
  restore({ log, undone, branch, twins, beside }) {
    Object.assign(this, { log: [...log], undone: [...undone], branch, twins: new Map(twins), beside });
  }

  /** A branch stands beside the one it left, instead of another way to run the same. */
  beside = false;
  /** The other run shows what each branch would have been without its last change. */
  standBeside() {
    const { run, other } = this.session;
    if (!run || !other) return;
    const branches = run.branches();
    this.twins = new Map(branches.map(({ id, parent }) => [id, parent ?? 0]));
    const name = (/** @type {number} */ id) => (id === 0 ? t('time.branch.main') : branches[id]?.name || t('time.branch.nth', { n: id }));
    [run.side, other.side] = [name(this.branch), name(this.twins.get(this.branch) ?? 0)];
    other.useBranch(this.twins.get(this.branch) ?? 0, run.now);
  }

  /** Does again what was done to a run, in the same order. Branches get new numbers when something is left out. @param {Done[]} log @param {number} [branch] */
  replay(log, branch) {
    const now = new Map([[0, 0]]);
    let opened = 0;
    for (const { at, from, on = 0, gone, act, ...fault } of log) {
      const here = now.get(from ?? on) ?? 0;
      const id = from === undefined ? on : (opened += 1);
      now.set(id, here);
      if (gone) continue;
      this.useBranch(here);
      // Only where the future is known a fault opens a branch.
      if (from !== undefined) this.session.clock.seek(at + 1);
      this.session.clock.seek(at);
      this.inject(fault, act);
      now.set(id, this.branch);
    }
    if (branch !== undefined) this.useBranch(now.get(branch) ?? 0);
    if (log.length) this.session.clock.seek(0);
  }

  /** Takes back what was done last. */
  undo() {
    const last = this.log.at(-1);
    if (!last) return this.session.notice(t('done.nothing'));
    const same = this.log.filter((fault) => together(fault, last));
    this.again(this.log.map((fault) => (same.includes(fault) ? { ...fault, gone: true } : fault)), [...this.undone, ...same]);
    return this.session.notice(t('done.undone'));
  }

  /** Does again what was taken back last. */
  redo() {
    const last = this.undone.at(-1);
    if (!last) return this.session.notice(t('done.nothing.again'));
    const same = this.undone.filter((fault) => together(fault, last));
    this.again([...this.log, ...same], this.undone.filter((fault) => !same.includes(fault)));
    this.useBranch(last.from === undefined ? last.on ?? 0 : Math.max(0, ...(this.session.run?.branches() ?? []).map((branch) => branch.id)));
    return this.session.notice(t('done.redone'));
  }

  /** Something that was done happens at another time, or not at all. @param {FaultAt} fault @param {number|null} at */
  change(fault, at) {
    this.again(this.log.map((f) => (together(f, fault) ? { ...f, at: at ?? f.at, gone: at === null } : f)), []);
  }

  /** The same scenario with another list of what was done, at the same moment. @param {Done[]} log @param {FaultAt[]} undone */
  again(log, undone) {
    const { branch } = this;
    const { scenario, preset, run, selection } = this.session;
    if (!run) return;
    const { now } = run;
    if (scenario) this.session.openScenario(scenario, { preset, faults: log, branch, beside: this.beside && branch > 0 });
    else {
      run.forget();
      Object.assign(this, { log: [], branch: 0 });
      this.replay(log, branch);
    }
    this.session.clock.seek(now);
    this.session.select(selection);
    this.undone = undone;
    this.session.emit('faults');
    this.session.emit('struck');
    this.session.clock.touch();
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

  /**
   * Breaks or nudges something. The future that was known is kept.
   * @param {string} gesture
   * @param {T.Selection} [target]
   */
  gesture(gesture, target = this.session.selection) {
    const run = this.session.run;
    if (!run) return;
    if (run.kind === 'trace') return ask(this.session, gesture);
    const action = this.session.view.action(gesture, target, this.session);
    if (!action) return this.session.notice(t(`${this.session.view.id}.gesture.none`));
    const before = run.branches().length;
    if (action.at !== undefined) {
      this.session.clock.pause();
      this.session.clock.seek(action.at);
    }
    let from = 0;
    try {
      const act = action.more?.length ? 1 + Math.max(0, ...this.log.map((fault) => fault.act ?? 0)) : undefined;
      for (const fault of [action.fault, ...action.more ?? []]) this.inject(fault, act);
      this.undone = [];
      from = run.index;
      // What is done at an instant can be seen right after it.
      this.session.clock.seek(run.now + (action.past ?? AT_ONCE_US));
      run.refreshNodes();
    } catch (why) {
      return this.session.notice(t('gesture.failed', { why: why instanceof Error ? why.message : String(why) }), { bad: true });
    }
    this.session.notice(t('gesture.done', { gesture: t(action.said ?? `gesture.${gesture}`), name: action.name, branched: run.branches().length > before, then: this.#came(run, from) }));
    this.session.emit('faults');
    this.session.emit('struck');
    this.session.clock.touch();
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
    return [...new Set(told.map((record) => tell(this.session.named(record))))].slice(0, TOLD).join(' ');
  }

  /** A fault at this moment, in every run. @param {T.AnyFault} fault @param {number} [act] the number of the act it is a part of */
  inject(fault, act) {
    const { run, other } = this.session;
    if (!run) return;
    const before = run.branches().length;
    const from = this.branch;
    this.session.guard(() => {
      this.branch = run.fault(fault);
      if (this.beside && other) this.#alike(other, fault, from);
      else if (other?.kind === 'scenario') this.twins.set(this.branch, other.fault(fault));
      run.refreshNodes();
    });
    const where = run.branches().length > before ? { from } : from > 0 ? { on: from } : {};
    this.log.push({ at: run.now, ...fault, ...where, ...(act === undefined ? {} : { act }) });
  }

  /** The other run gets the same branches, and shows the one that was left. @param {Run} other @param {T.AnyFault} fault @param {number} from */
  #alike(other, fault, from) {
    const { now } = other;
    other.useBranch(from, now);
    if (this.branch !== from) other.fault(fault);
    this.standBeside();
  }
  /** Which branch of the other run belongs to which of the first. @type {Map<number, number>} */
  twins = new Map();
  /** The branch after this one, or the first. */
  nextBranch() {
    const ids = this.session.run?.branches().map((b) => b.id) ?? [];
    if (ids.length > 1) this.useBranch(ids[(ids.indexOf(this.branch) + 1) % ids.length]);
  }

  /** Back to the branch this one left, at the moment it left. */
  parentBranch() {
    const here = this.session.run?.branches().find((b) => b.id === this.branch);
    if (!here || here.parent === null) return;
    this.useBranch(here.parent);
    this.session.clock.seek(here.at);
  }

  /** @param {number} id */
  useBranch(id) {
    const run = this.session.run;
    if (!run || id === this.branch) return;
    const now = run.now;
    this.session.guard(() => {
      run.useBranch(id, now);
      this.session.other?.useBranch(this.twins.get(id) ?? 0, now);
      this.branch = id;
      if (this.beside) this.standBeside();
    });
    this.session.emit('faults');
    this.session.clock.touch();
  }
}

/** Faults of one act are done, moved and taken back together. @param {FaultAt} a @param {FaultAt} b */
export const together = (a, b) => a === b || (a.act !== undefined && a.act === b.act);
