/** A run of datagrams: the arrows of the unicast, and what stands beside them. */
import { Run } from '#lab/session/run.js';

/** @import * as T from './types' */

/** The most arrows and marks that are asked for at once. */
const MOST = 40_000;

/** @extends {Run<import('#servent').Unicast | import('#servent').Ladder>} */
export class UnicastRun extends Run {
  /** All that is known, by when it was sent. @type {T.Arrow[]} */ arrows = [];
  /** @type {T.LifelineMark[]} */ marks = [];
  /** What an acknowledgement is the first to cover: where its bracket begins. @type {Map<number, {from: number, upto: number}>} */
  covers = new Map();
  /** How long a flight usually takes. */
  flight = 20_000;
  /** Counts up whenever arrows or marks are others than before. */
  edition = 0;
  #shape = '';
  /** The ends whose instants were recorded; all of them in a simulated world. @type {Set<number>|null} */
  recorded = 'recorded' in this.source ? new Set(this.source.recorded()) : null;

  /** Of what one end recorded with several others: that with which it exchanged most messages. @type {number|null} */
  busiest = null;

  /** @override */
  get home() { return this.nodes.find((n) => this.recorded?.has(n.id)) ?? this.nodes.find((n) => n.role === 'sender') ?? this.nodes[0]; }
  /** @returns {string} */
  get profile() { return String(this.nodes[0].profile); }

  /** Reads what has become known since; true when there is something new. */
  refresh() {
    const shape = `${this.#generation}|${this.count}|${this.explored}`;
    if (shape === this.#shape) return false;
    this.#shape = shape;
    const frontier = this.raw.frontier();
    this.arrows = this.source.arrows(0, frontier, MOST);
    this.marks = this.source.marks(0, frontier, MOST);
    this.arrows.sort((a, b) => a.sent - b.sent);
    this.marks.sort((a, b) => a.at - b.at);
    this.#byId = new Map(this.arrows.map((arrow) => [arrow.id, arrow]));
    // What is refused where it arrives was never there.
    this.#refused = new Set(this.marks.filter((m) => m.kind === 'rejected').map((m) => `${m.node}/${m.at}`));
    this.#measure();
    this.#cover();
    this.busiest = this.#others();
    this.edition += 1;
    return true;
  }

  #others() {
    const { recorded } = this;
    if (recorded?.size !== 1 || this.nodes.length <= 2) return null;
    const messages = new Map(this.nodes.filter(({ id }) => !recorded.has(id)).map(({ id }) => [id, 0]));
    for (const { from, to, blocks } of this.arrows) {
      const other = recorded.has(from) ? to : from;
      messages.set(other, (messages.get(other) ?? 0) + blocks.length);
    }
    return [...messages].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
  }
  /** @type {Map<number, T.Arrow>} */ #byId = new Map();
  /** Another branch, another future. */
  #generation = 0;

  /** @type {Set<string>} */ #refused = new Set();

  /** True when what it carries was taken in where it arrived. @param {T.Arrow} arrow */
  taken({ fate, to, at }) { return fate === 'arrived' && at !== null && !this.#refused.has(`${to}/${at}`); }

  /** Which end of an arrow is estimated: the one that was not recorded. @param {T.Arrow} arrow @returns {'start'|'end'|null} */
  guessed({ from, to }) {
    if (this.recorded === null) return null;
    return !this.recorded.has(from) ? 'start' : this.recorded.has(to) ? null : 'end';
  }

  /** @param {number} id */
  arrow(id) { return this.#byId.get(id); }

  /**
   * A fault that names a datagram strikes it wherever it is: beside a run of
   * the other profile the same one may have arrived already.
   * @param {T.AnyFault} fault @override
   */
  fault(fault) {
    const { now } = this;
    const act = /** @type {T.UnicastAction} */ (fault);
    const name = act.drop ?? act.delay ?? act.duplicate;
    if (name) this.refresh();
    const gone = name && this.arrows.find((a) => a.from === name.from && a.to === name.to && a.n === name.n && a.copy_of === null && a.at !== null && a.at <= now && a.sent < now);
    if (gone) this.raw.seek(gone.sent);
    const branch = super.fault(fault);
    if (gone) this.raw.seek(now);
    this.#generation += 1;
    return branch;
  }
  /** @param {number} id @param {number} now @override */
  useBranch(id, now) {
    super.useBranch(id, now);
    this.#generation += 1;
  }

  /** @param {number} node */
  margins(node) { return this.source.margins(node); }

  #measure() {
    const lengths = this.arrows.filter((a) => a.due !== null).map((a) => a.due - a.sent).sort((a, b) => a - b);
    this.flight = Math.max(100, lengths[lengths.length >> 1] ?? 20_000);
  }

  /** Which arrivals each acknowledgement is the first to speak of. */
  #cover() {
    this.covers.clear();
    /** When each number of a connection first arrived. @type {Map<string, Map<number, number>>} */
    const came = new Map();
    /** @type {Map<string, number>} */
    const acked = new Map();
    for (const arrow of this.arrows) {
      for (const { data } of arrow.blocks) {
        if (!data || arrow.at === null || !this.taken(arrow)) continue;
        const here = came.get(data.conn) ?? new Map();
        came.set(data.conn, here);
        for (let n = data.from; n <= data.to; n += 1) here.set(n, Math.min(here.get(n) ?? Infinity, arrow.at));
      }
    }
    for (const arrow of this.arrows) {
      for (const { ack } of arrow.blocks) {
        if (!ack) continue;
        const before = acked.get(ack.conn) ?? 0;
        if (ack.upto <= before) continue;
        acked.set(ack.conn, ack.upto);
        let from = Infinity;
        for (let n = before + 1; n <= ack.upto; n += 1) from = Math.min(from, came.get(ack.conn)?.get(n) ?? Infinity);
        if (from < arrow.sent) this.covers.set(arrow.id, { from, upto: ack.upto });
      }
    }
  }

  /** Every instant at which something happens that can be seen. @returns {number[]} */
  instants() {
    const all = [this.origin];
    for (const arrow of this.arrows) {
      all.push(arrow.sent);
      if (arrow.due !== null) all.push(arrow.due);
      if (arrow.at !== null) all.push(arrow.at);
    }
    for (const mark of this.marks) if (mark.kind !== 'task') all.push(mark.at);
    return all;
  }

  /** The peer of an event by its name. @param {T.LabRecord} record @override */
  named(record) {
    const [body] = Object.values(record.event);
    if (typeof body.peer === 'number') record.who ??= this.node(body.peer)?.name ?? null;
    record.who ??= this.nodes.length === 2 ? this.nodes.find((n) => n.id !== record.node)?.name ?? null : null;
    return super.named(record);
  }
}
