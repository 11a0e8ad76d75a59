/** A run of the core, with its answers read: a scenario being simulated, or a trace being replayed. */

/** @import * as T from './types' */

/** A little time after the last event, so that it can be seen. */
const AFTERGLOW = 1.03;

/** One run: a scenario that is being simulated, or a trace that is replayed. */
export class Run {
  /** @param {any} raw */
  constructor(raw) {
    this.raw = /** @type {T.RawRun} */ (raw);
    this.kind = /** @type {'scenario'|'trace'} */ (this.raw.kind());
    this.nodes = /** @type {T.NodeInfo[]} */ (JSON.parse(this.raw.nodes()));
    /** A recorded run counts from the epoch; the page from its first event. */
    this.origin = 0;
    this.setOrigin();
    this.explored = this.kind === 'trace';
    this.freed = false;
  }
  setOrigin() {
    if (this.kind === 'trace' && this.origin === 0 && this.raw.count() > 0) this.origin = this.record(0).at;
  }
  free() {
    this.freed = true;
    this.raw.free();
  }
  get now() { return this.raw.now(); }
  get index() { return this.raw.index(); }
  get count() { return this.raw.count(); }
  /** Where there is nothing more to see: the last event once all is known, else the horizon. */
  get end() {
    const horizon = this.horizon;
    if (!this.explored || this.kind === 'trace' || this.raw.count() === 0) return horizon;
    const known = this.raw.count();
    if (this.#endOf !== known) {
      this.#endOf = known;
      this.#end = this.record(known - 1).at * AFTERGLOW;
    }
    return Math.min(horizon, Math.max(this.#end, this.now));
  }
  #endOf = -1;
  #end = 0;
  /** What `density` and the links span. */
  get horizon() { return Math.max(this.raw.horizon(), this.raw.frontier()); }
  get version() { return this.raw.version(); }
  get digest() { return this.raw.digest(); }
  /** The node that is looked at while none is selected. */
  get home() { return this.nodes[0]; }
  /** The scenario with every field; none for a trace. @returns {any} */
  get scenario() { return JSON.parse(this.raw.scenario()); }
  refreshNodes() { this.nodes = JSON.parse(this.raw.nodes()); }
  /** @param {number} node */
  node(node) { return this.nodes.find((n) => n.id === node); }
  /** @param {number} node @returns {any} */
  inspect(node) { return JSON.parse(this.raw.inspect(node)); }
  /** @param {number} node @returns {T.Change[]} */
  diff(node) { return JSON.parse(this.raw.diff(node)); }
  /** @param {number} i @returns {T.LabRecord} */
  record(i) { return JSON.parse(this.raw.record(i)); }
  /** @param {number} from @param {number} count @param {string} filter @returns {T.LabRecord[]} */
  records(from, count, filter) { return JSON.parse(this.raw.records(from, count, filter)); }
  /** @param {number} i @returns {T.Why|null} */
  why(i) { return JSON.parse(this.raw.why(i)); }
  /** @returns {T.Pin[]} */
  pins() { return JSON.parse(this.raw.pins()); }
  /** @returns {T.BranchInfo[]} */
  branches() { return JSON.parse(this.raw.branches()); }
  /** @returns {T.Verified} */
  verified() { return JSON.parse(this.raw.verified()); }
  /** @param {number} bins */
  density(bins) { return this.raw.density(bins); }
  /** Adds to a record what its sentence needs. @param {T.LabRecord} record */
  named(record) {
    const [body] = Object.values(record.event);
    if (typeof body.other === 'number') body.other = this.node(body.other)?.name ?? body.other;
    return record;
  }
  /** @param {T.Fault} fault */
  fault(fault) {
    const branch = this.raw.fault(JSON.stringify(fault));
    this.explored = false;
    return branch;
  }
  /** @param {number} id @param {number} now where to look at it */
  useBranch(id, now) {
    this.raw.useBranch(id);
    this.raw.seek(now);
    this.explored = false;
  }

  /**
   * Goes on to `us`, but works no longer than `budget` milliseconds.
   * @param {number} us
   * @param {number} budget
   */
  advance(us, budget) {
    const end = performance.now() + budget;
    // The core counts whole microseconds: a part of one is never reached.
    const to = Math.floor(us);
    let reached = this.raw.advance(to, 64);
    while (reached < to && performance.now() < end) {
      const next = this.raw.advance(to, 64);
      if (next <= reached && this.raw.frontier() <= reached) break;
      reached = next;
    }
    return reached;
  }

  /** Runs the future ahead for at most `budget` milliseconds. @param {number} budget */
  explore(budget) {
    const end = performance.now() + budget;
    while (!this.explored && performance.now() < end) this.explored = this.raw.explore(64);
    return this.explored;
  }
}
