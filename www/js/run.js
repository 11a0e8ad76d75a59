/** The core in WebAssembly: loading it, and a run of it with its answers read. */

/** @import * as T from './types' */

/** @type {T.Glue|null} */
let glue = null;
let loads = 0;

/** Loads the core; after a panic again, as a fresh instance. @returns {Promise<T.Glue>} */
export async function loadCore() {
  const inline = /** @type {any} */ (globalThis);
  const url = new URL('pkg/servent_web.js', document.baseURI);
  if (loads > 0) url.searchParams.set('again', String(loads));
  loads += 1;
  // The single-file page carries the bindings as a function and the module as
  // base64, because a page from `file://` may fetch nothing.
  const fresh = /** @type {T.Glue} */ (inline.SERVENT_GLUE ? inline.SERVENT_GLUE() : await import(url.href));
  await fresh.default({ module_or_path: inline.SERVENT_WASM ? decode(inline.SERVENT_WASM) : new URL('pkg/servent_web_bg.wasm', document.baseURI) });
  glue = fresh;
  return fresh;
}

/** @param {string} base64 */
function decode(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/** @returns {T.Preset[]} */
export function presets() {
  return glue ? JSON.parse(glue.Lab.presets()) : [];
}

/** A little time after the last event, so that it can be seen. */
const AFTERGLOW = 1.03;

/** One run: a scenario that is being simulated, or a trace that is replayed. */
export class Run {
  /** @param {T.RawLab} raw */
  constructor(raw) {
    this.raw = raw;
    this.kind = /** @type {'scenario'|'trace'} */ (raw.kind());
    this.nodes = /** @type {T.NodeInfo[]} */ (JSON.parse(raw.nodes()));
    /** A recorded run counts from the epoch; the page from its first event. */
    this.origin = 0;
    this.setOrigin();
    this.explored = this.kind === 'trace';
  }
  /** @param {unknown} scenario */
  static fromScenario(scenario) {
    if (!glue) throw new Error('not loaded');
    return new Run(glue.Lab.fromScenario(JSON.stringify(scenario)));
  }
  /** @param {Uint8Array} bytes */
  static fromTrace(bytes) {
    if (!glue) throw new Error('not loaded');
    return new Run(glue.Lab.fromTrace(bytes));
  }
  setOrigin() {
    if (this.kind === 'trace' && this.origin === 0 && this.raw.count() > 0) this.origin = this.record(0).at;
  }
  get now() { return this.raw.now(); }
  get index() { return this.raw.index(); }
  get count() { return this.raw.count(); }
  /** Where there is nothing more to see: the last event once all is known, else the horizon. */
  get end() {
    const horizon = Math.max(this.raw.horizon(), this.raw.frontier());
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
  get server() { return this.nodes.find((n) => n.role === 'server') ?? this.nodes[0]; }
  /** The scenario with every field; none for a trace. @returns {any} */
  get scenario() { return JSON.parse(this.raw.scenario()); }
  refreshNodes() { this.nodes = JSON.parse(this.raw.nodes()); }
  /** @param {number} node */
  node(node) { return this.nodes.find((n) => n.id === node); }
  /** @param {number} from @param {number} count @returns {T.Board} */
  board(from, count) { return JSON.parse(this.raw.board(this.server.id, from, count)); }
  /** The board with so many cards of each lane, from the given one on. @param {{sync: number, async: number, grace: number}} from @param {number} count @returns {T.Board} */
  lanes(from, count) { return JSON.parse(this.raw.lanes(this.server.id, from.sync, from.async, from.grace, count)); }
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
  /** @param {T.Fault} fault */
  fault(fault) {
    const branch = this.raw.fault(JSON.stringify(fault));
    this.explored = false;
    return branch;
  }

  /**
   * Goes on to `us`, but works no longer than `budget` milliseconds.
   * @param {number} us
   * @param {number} budget
   */
  advance(us, budget) {
    const end = performance.now() + budget;
    let reached = this.raw.advance(us, 64);
    while (reached < us && performance.now() < end) {
      const next = this.raw.advance(us, 64);
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
