/** A run of a swarm: rows, cells and transfers at the cursor, and how far the swarm is over time. */
import { Run } from '#lab/session/run.js';
import { SOURCE } from '#lab/swarm/grid.js';

/** @import * as T from './types' */
/** How a transfer was chosen; the source is a giver too. @typedef {T.SwarmSelection & {giver: number}} Chosen */

/** What a cell can be. */
export const MISSING = 0;
export const HELD = 1;
export const ASKED = 2;
export const FLIGHT = 3;
export const FAILED = 4;
export const BAD = 5;
export const GIVEN = 6;

/** Numbers a row and a transfer take in what the core answers. */
const [ROW, TRANSFER, POINT] = [14, 10, 3];
/** Bits of a row's flags. */
const [QUARANTINED, WHOLE, FREE, HALTED, ABSENT, WALLED] = [1, 2, 4, 8, 16, 32];
/** Before a recording begins there is no coordinator. */
const UNBORN = /** @type {any} */ (Object.freeze({ whole: 0, wanting: 0, at: 0, bound: 0, ratio: 0, stalled: 0, quarantined: 0, source_copies: 0, messages_per_piece: 0, finished: false }));
/** Points of a curve. */
const BINS = 200;

/** @extends {Run<import('#servent').Swarm | import('#servent').Matrix>} */
export class SwarmRun extends Run {
  pieces = 0;
  /** @type {T.Row[]} */ rows = [];
  /** Rows of pieces. */
  cells = /** @type {Uint8Array} */ (new Uint8Array(0));
  /** Running now. @type {T.Transfer[]} */ transfers = [];
  /** Copies of each piece. */
  rarity = /** @type {Uint32Array} */ (new Uint32Array(0));
  /** Copies of the rarest. */
  rarest = 0;
  /** Pieces held by all, as shares of the whole, and the most that could be. */
  progress = { at: /** @type {number[]} */ ([]), done: /** @type {number[]} */ ([]), ideal: /** @type {number[]} */ ([]), end: 0 };
  /** @type {T.Totals} */ counters = /** @type {any} */ ({});
  /** @type {T.SwarmResult} */ outcome = /** @type {any} */ ({});
  /** Differs whenever anything that is drawn may differ. */
  stamp = '';
  #branched = 0;
  #known = '';

  /** @param {import('#servent').Swarm | import('#servent').Matrix} source */
  constructor(source) {
    super(source);
    this.policy = 'policy' in source ? source.policy() : /** @type {T.SwarmPolicy} */ (this.scenario.swarm.policy);
    this.#size();
  }
  #size() {
    const [clients, pieces] = this.source.size();
    this.pieces = pieces;
    this.rows = this.nodes.slice(0, clients).map(({ name, role }) => /** @type {T.Row} */ (/** @type {unknown} */ ({ name, role })));
  }

  /** The coordinator. @override */
  get home() { return this.nodes[this.rows.length] ?? this.nodes[0]; }
  /** Nothing moves any more, and it is late enough to see that. */
  get stuck() { return this.outcome.deadlocked !== null && this.outcome.deadlocked !== undefined && this.now >= this.outcome.deadlocked; }
  /** Copies of the file the source has sent. */
  get copies() { return (this.counters.source_copies ?? 0) / 1000; }

  /** Where there is nothing more to see in the curve. */
  get interest() {
    const { at, deadlocked, bound } = this.outcome;
    if (this.kind === 'trace') return this.horizon;
    return 1.04 * (at ?? (deadlocked === null ? this.progress.end : 1.25 * Math.max(deadlocked, bound)));
  }

  /** Reads the moment the cursor stands at. */
  refresh() {
    const { now } = this;
    const stamp = `${this.source.changes()}|${this.#branched}`;
    if (stamp !== this.stamp) {
      this.stamp = stamp;
      this.cells = this.source.cells();
      this.rarity = this.source.rarity();
      this.rarest = this.rarity.reduce((least, n) => Math.min(least, n), Infinity);
      this.counters = this.source.counters() ?? UNBORN;
      this.#readFlows();
      this.#readRows();
    }
    for (const flow of this.transfers) flow.share = flow.state === 2 ? 1 : flow.begun < 0 || flow.ends <= flow.begun ? 0 : Math.min(1, Math.max(0, (now - flow.begun) / (flow.ends - flow.begun)));
    for (const row of this.rows) row.waits = row.stalled === null ? 0 : now - row.stalled;
  }
  #readRows() {
    const all = this.source.rows(0, this.rows.length);
    this.rows.forEach((row, i) => {
      const at = i * ROW;
      const flags = all[at + 13];
      const [taken, credit, receiving] = [all[at + 5], all[at + 6], all[at + 10]];
      row.up = all[at] === 1;
      row.active = all[at + 1] === 1;
      row.have = all[at + 2];
      row.wanted = all[at + 3];
      row.given = all[at + 4];
      row.taken = taken + receiving;
      row.credit = credit;
      row.right = row.taken + Math.max(0, credit);
      row.grants = all[at + 7];
      row.stalled = all[at + 8] < 0 ? null : all[at + 8];
      row.rate = all[at + 9];
      row.receiving = receiving;
      row.sending = all[at + 11];
      row.failures = all[at + 12];
      row.quarantined = (flags & QUARANTINED) > 0;
      row.whole = (flags & WHOLE) > 0;
      row.free = (flags & FREE) > 0;
      row.halted = (flags & HALTED) > 0;
      row.came = (flags & ABSENT) === 0;
      row.firewalled = (flags & WALLED) > 0;
    });
  }

  #readFlows() {
    const all = this.source.transfers();
    const many = all.length / TRANSFER;
    // The objects stay: a crowd has a thousand of them, sixty times a second.
    while (this.transfers.length < many) this.transfers.push(/** @type {T.Transfer} */ ({}));
    this.transfers.length = many;
    this.transfers.forEach((flow, i) => {
      const at = i * TRANSFER;
      flow.id = all[at];
      flow.giver = all[at + 1];
      flow.taker = all[at + 2];
      flow.piece = all[at + 3];
      flow.at = all[at + 4];
      flow.begun = all[at + 5];
      flow.ends = all[at + 6];
      flow.put = all[at + 8] === 1;
      flow.state = all[at + 9];
    });
  }

  /** Reads what has become known of the whole story; true when there is something new. */
  learn() {
    const known = `${this.count}|${this.explored}|${this.#branched}`;
    if (known === this.#known) return false;
    this.#known = known;
    this.outcome = this.source.outcome();
    const all = this.source.progress(BINS);
    const points = all.length / POINT;
    const whole = Math.max(1, all[all.length - 1]);
    const progress = { at: /** @type {number[]} */ ([]), done: /** @type {number[]} */ ([]), ideal: /** @type {number[]} */ ([]), end: 0 };
    for (let i = 0; i < points; i += 1) {
      const [at, held, most] = all.subarray(i * POINT, (i + 1) * POINT);
      progress.at.push(at);
      // What no swarm could beat is not known of a real one.
      if (this.kind === 'scenario') progress.ideal.push(Math.min(1, most / whole));
      if (held >= 0) progress.done.push(Math.min(1, held / whole));
      progress.end = at;
    }
    this.progress = progress;
    return true;
  }

  /** A transfer by its number, also one that is over. @param {number} id @returns {{giver: number, taker: number, piece: number}|undefined} */
  transfer(id) { return this.transfers.find((f) => f.id === id) ?? this.funnel(id) ?? undefined; }

  /** How it was chosen. @param {number} id @returns {Chosen|null} */
  funnel(id) {
    const key = `${this.#branched}|${id}|${id < this.count}`;
    if (this.#funnel.key !== key) {
      const found = (id < this.count && this.source.funnel(id)) || null;
      this.#funnel = { key, found: found && { ...found, giver: found.giver ?? SOURCE } };
    }
    return this.#funnel.found;
  }
  #funnel = { key: '', found: /** @type {Chosen|null} */ (null) };

  /** @override */
  refreshNodes() {
    super.refreshNodes();
    // Others come to a running one.
    if (this.source.size()[0] !== this.rows.length) this.#size();
    this.rows.forEach((row, i) => { row.role = /** @type {any} */ (this.nodes[i]).role; });
  }
  /** @param {T.AnyFault} fault @override */
  fault(fault) {
    this.#branched += 1;
    return super.fault(fault);
  }
  /** @param {number} id @param {number} now @override */
  useBranch(id, now) {
    super.useBranch(id, now);
    this.#branched += 1;
    this.refreshNodes();
  }

  /** Connections in a record by the names of their clients. @param {T.LabRecord} record @override */
  named(record) {
    const [body] = Object.values(record.event);
    // A coordinator tells what happens to its clients.
    record.node_name = this.node(record.node)?.name ?? record.node_name;
    for (const key of ['client', 'down', 'up', 'by']) {
      const conn = body[key];
      if (typeof conn === 'number') body[key] = this.node(Math.floor(conn / 65536))?.name ?? body[key];
    }
    return super.named(record);
  }
}
