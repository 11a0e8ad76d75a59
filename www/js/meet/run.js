/** A run of meetings: every datagram as an arrow, and what happened beside them. */
import { Run } from '#lab/session/run.js';
import { nameOf } from '#lab/meet/names.js';

/** @import * as T from './types' */

/** The most arrows and marks that are asked for at once. */
const MOST = 10_000;

/** @extends {Run<import('#servent').Meet>} */
export class MeetRun extends Run {
  /** All that is known, by when it was sent. @type {T.MeetArrow[]} */ arrows = [];
  /** @type {T.MeetMark[]} */ marks = [];
  /** How long a datagram usually takes. */
  flight = 20_000;
  /** Counts up whenever arrows or marks are others than before. */
  edition = 0;
  #shape = '';
  /** @type {Map<number, T.MeetArrow>} */ #byId = new Map();
  /** Another branch, another future. */
  #generation = 0;

  /** Nodes have their names in the language of the page. @returns {Map<string, string>} by what the scenario calls them */
  #name() {
    const names = new Map(this.nodes.map((node) => [node.name, nameOf(node)]));
    for (const node of this.nodes) node.name = names.get(node.name) ?? node.name;
    return names;
  }
  #names = this.#name();
  /** @override */
  refreshNodes() {
    super.refreshNodes();
    this.#name();
  }
  /** @param {T.LabRecord} record @override */
  named(record) {
    const called = (/** @type {string|null} */ name) => this.#names.get(name ?? '') ?? name;
    record.node_name = called(record.node_name) ?? '';
    if (record.who) record.who = called(record.who);
    return super.named(record);
  }

  /** Reads what has become known since; true when there is something new. */
  refresh() {
    const shape = `${this.#generation}|${this.count}|${this.explored}`;
    if (shape === this.#shape) return false;
    this.#shape = shape;
    const frontier = this.raw.frontier();
    this.arrows = this.source.arrows(0, frontier, MOST);
    this.marks = this.source.marks(0, frontier, MOST);
    this.#byId = new Map(this.arrows.map((arrow) => [arrow.id, arrow]));
    const lengths = this.arrows.map((a) => a.due - a.sent).sort((a, b) => a - b);
    this.flight = Math.max(100, lengths[lengths.length >> 1] ?? 20_000);
    this.edition += 1;
    return true;
  }

  /** @param {number} id */
  arrow(id) { return this.#byId.get(id); }
  /** @param {number} node */
  look(node) { return this.source.look(node); }
  /** The number of an arrow among those of its sender, from 1: a fault names it so. @param {T.MeetArrow} arrow */
  number(arrow) { return this.arrows.filter(({ from, id }) => from === arrow.from && id <= arrow.id).length; }

  /** Nodes from left to right: callers and their routers, the meeting place, the others. @returns {number[]} */
  order() {
    const { people = [], routers = [], pairs = [] } = this.scenario ?? {};
    const router = (/** @type {number} */ person) => (people[person]?.behind === null ? [] : [people.length + people[person].behind]);
    const [left, right] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
    for (const { caller, listener } of pairs) {
      const together = people[caller]?.behind !== null && people[caller]?.behind === people[listener]?.behind;
      if (together) left.push(caller, listener, ...router(caller));
      else {
        left.push(caller, ...router(caller));
        right.unshift(...router(listener), listener);
      }
    }
    const place = people.length + routers.length;
    const rest = this.nodes.map((n) => n.id).filter((id) => id !== place && !left.includes(id) && !right.includes(id));
    return [...new Set([...rest, ...left, place, ...right])];
  }

  /** Every instant at which something happens that can be seen. @returns {number[]} */
  instants() {
    const all = [0];
    for (const { sent, due, at } of this.arrows) all.push(sent, at ?? due);
    for (const mark of this.marks) all.push(mark.at);
    return all;
  }

  /** @param {T.AnyFault} fault @override */
  fault(fault) {
    const branch = super.fault(fault);
    this.#generation += 1;
    return branch;
  }
  /** @param {number} id @param {number} now @override */
  useBranch(id, now) {
    super.useBranch(id, now);
    this.#generation += 1;
  }
}
