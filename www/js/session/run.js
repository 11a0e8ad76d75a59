/** A run of the core, with its answers read: a scenario being simulated, or a trace being replayed. */

/** @import { Ladder, Matrix, Meet, Overlay, Queue, Routing, Swarm, Tape, Unicast } from '#servent' */
/** @import * as T from '../types' */

/** A little time after the last event, so that it can be seen. */
const AFTERGLOW = 1.03;

/** Something that is done to a world, by its name. @param {string} name @param {object} body */
export const doing = (name, body) => /** @type {T.AnyFault} */ (/** @type {unknown} */ ({ [name]: body }));

/** What answers a view's own questions, and gives the run for all others. @typedef {Queue | Tape | Routing | Overlay | Unicast | Ladder | Swarm | Matrix | Meet} Source */

/** The recording a run is made from, once more: of one servent, or of several. @param {Source} source @returns {import('#servent').Tape | import('#servent').Tapes} */
export const tapeOf = (source) => /** @type {any} */ (source).tapes?.() ?? /** @type {any} */ (source).tape();

/** One run: a scenario that is being simulated, or a trace that is replayed. @template {Source} [S=Source] */
export class Run {
  /** @param {S} source */
  constructor(source) {
    this.source = source;
    this.raw = source.run();
    this.kind = this.raw.kind();
    this.nodes = this.raw.nodes();
    /** A recorded run counts from the epoch; the page from its first event. */
    this.origin = 0;
    this.setOrigin();
    this.explored = this.kind === 'trace';
    /** What stands over it while a recording is beside what if. */
    this.side = '';
    /** What it is called beside another way to run the same scenario. */
    this.way = '';
    const tapes = 'tapes' in source ? source.tapes() : undefined;
    /** Whether several servents were recorded. */
    this.together = tapes !== undefined;
    tapes?.free();
    this.freed = false;
  }
  setOrigin() {
    if (this.kind === 'trace' && this.origin === 0 && this.raw.count() > 0) this.origin = this.record(0).at;
  }
  free() {
    this.freed = true;
    this.raw.free();
    this.source.free();
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
      // In whole microseconds: the clock has no others, and must be able to get there.
      this.#end = Math.floor(this.record(known - 1).at * AFTERGLOW);
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
  get scenario() { return this.raw.scenario() ?? null; }
  refreshNodes() { this.nodes = this.raw.nodes(); }
  /** @param {number} node */
  node(node) { return this.nodes.find((n) => n.id === node); }
  /** @param {number} node @returns {any} */
  inspect(node) { return this.raw.inspect(node); }
  /** @param {number} node */
  diff(node) { return this.raw.diff(node); }
  /** A record that there is. @param {number} i */
  record(i) { return /** @type {T.LabRecord} */ (this.raw.record(i)); }
  /** @param {number} from @param {number} count @param {string} filter */
  records(from, count, filter) { return this.raw.records(from, count, filter); }
  /** @param {number} i */
  why(i) { return this.raw.why(i) ?? null; }
  /** The numbers a record rests on. @param {number} i */
  numbers(i) { return this.raw.numbers(i) ?? null; }
  pins() { return this.raw.pins(); }
  branches() { return this.raw.branches(); }
  verified() { return this.raw.verified(); }
  /** @param {number} bins */
  density(bins) { return this.raw.density(bins); }
  /** Adds to a record what its sentence needs. @param {T.LabRecord} record */
  named(record) {
    const [body] = Object.values(record.event);
    if (typeof body.other === 'number') body.other = this.node(body.other)?.name ?? body.other;
    return record;
  }
  /** @param {T.AnyFault} fault */
  fault(fault) {
    const branch = this.raw.fault(fault);
    this.explored = false;
    return branch;
  }
  /** @param {number} id @param {number} now where to look at it */
  useBranch(id, now) {
    this.raw.useBranch(id);
    this.raw.seek(now);
    this.explored = false;
  }

  /** Drops what was asked of a recording. */
  forget() {
    this.raw.forget();
    this.useBranch(0, this.now);
  }

  /** Goes on to `us`, but works no longer than `budget` milliseconds. @param {number} us @param {number} budget */
  advance(us, budget) { return this.raw.advance(us, budget); }

  /** Runs the future ahead for at most `budget` milliseconds. @param {number} budget */
  explore(budget) { return this.explored ||= this.raw.explore(budget); }
}
