/** A run of an overlay: which nodes are linked, what travels, what was searched for. */
import { Run } from '#lab/session/run.js';
import { Flights } from '#lab/routing/flights.js';
import { layout, neighbours } from '#lab/routing/layout.js';

/** @import * as T from './types' */

/** While the future is being found out, what became known is taken up this often, in milliseconds. */
const LEARN_MS = 120;
/** Records of one instant that are looked through. */
const INSTANT = 500;

/** A recorded overlay is the star that one servent saw, or what several of them were. */
const STAR = /** @type {any} */ ({ shape: 'star', script: [], config: {} });
const SEVERAL = /** @type {any} */ ({ shape: 'random', script: [], config: {} });

/** @param {Float64Array} rows */
const triples = (rows) => Array.from({ length: rows.length / 3 }, (_, i) => ({ at: rows[3 * i], from: rows[3 * i + 1], by: rows[3 * i + 2] }));

/** @extends {Run<import('#servent').Routing | import('#servent').Overlay>} */
export class RoutingRun extends Run {
  flights = new Flights();
  /** @type {T.Search[]} */ searches = [];
  /** Ends of each link, and whether it is whole. */
  links = { a: new Uint32Array(0), b: new Uint32Array(0), up: new Uint8Array(0), count: 0 };
  /** Whether each node runs. @type {Uint8Array} */ up = new Uint8Array(0);
  /** Whether each node is behind a firewall. @type {Uint8Array} */ closed = new Uint8Array(0);
  /** Connections that a firewall prevented. @type {{at: number, from: number, by: number}[]} */ refusals = [];
  /** Where the nodes stand, and which are neighbours. */
  places = layout('star', 1, this.links, 0);
  near = neighbours(1, this.links);
  /** Counts up whenever a link or node is otherwise than before. */
  edition = 0;
  #links = -1;
  #searched = '';
  #learnt = 0;
  #generation = 0;

  /** @param {import('#servent').Routing | import('#servent').Overlay} source @param {Record<string, string>} fates the names of what may become of a message, by number */
  constructor(source, fates) {
    super(source);
    this.fates = fates;
    /** @type {T.RoutingScenario} */ this.told = this.scenario ?? (this.together ? SEVERAL : STAR);
    this.#place();
  }

  /** Where the nodes stand. */
  #place() {
    this.refreshLinks();
    const root = this.told.script.find((step) => step.search)?.search?.node ?? 0;
    this.places = layout(this.told.shape, this.nodes.length, this.links, Math.min(root, this.nodes.length - 1));
    this.near = neighbours(this.nodes.length, this.links);
  }

  /** @override */
  get home() { return this.nodes.find((n) => n.role === 'asks' || n.role === 'both') ?? this.nodes[0]; }
  /** Nodes are numbered in order. @param {number} id @override */
  node(id) { return this.nodes[id]; }
  /** @param {number} id */
  name(id) { return this.nodes[id]?.name ?? ''; }

  /** Links and nodes as they are now; true when something is otherwise. */
  refreshLinks() {
    const version = this.source.linksVersion();
    if (version === this.#links) return false;
    this.#links = version;
    const rows = this.source.links();
    const count = rows.length / 3;
    const { links } = this;
    if (links.count !== count) Object.assign(links, { a: new Uint32Array(count), b: new Uint32Array(count), up: new Uint8Array(count), count });
    for (let i = 0; i < count; i += 1) [links.a[i], links.b[i], links.up[i]] = [rows[i * 3], rows[i * 3 + 1], rows[i * 3 + 2]];
    this.up = this.source.up();
    // Of a recording it is not known who is behind one.
    this.closed = 'closed' in this.source ? this.source.closed() : new Uint8Array(this.up.length);
    this.edition += 1;
    return true;
  }

  /** Takes up what became known; with `now` at once. @param {boolean} [now] */
  learn(now = false) {
    const frontier = this.raw.frontier();
    if (frontier <= this.flights.known && this.explored === this.#all) return;
    // What a recording of a running servent learns may have left before what is known.
    if (this.kind === 'trace' && this.flights.known >= 0) this.flights.clear();
    // What is shown must be known; what is ahead can wait.
    if (!now && this.flights.known > this.now && !this.explored && performance.now() - this.#learnt < LEARN_MS) return;
    this.#learnt = performance.now();
    this.flights.learn(this.source, frontier);
    this.#all = this.explored;
    const shape = `${this.#generation}|${this.count}`;
    if (shape !== this.#searched) {
      this.#searched = shape;
      this.searches = this.source.searches();
      this.refusals = 'refusals' in this.source ? triples(this.source.refusals()) : [];
    }
  }
  #all = false;

  /** The search or push with this number. @param {number} guid */
  search(guid) { return this.searches.find((s) => s.guid === guid); }

  /** What is followed when the user chose nothing: the newest search or push by now, else the first to come. */
  newest() {
    let best = this.searches[0];
    for (const one of this.searches) if (one.at <= this.now && one.at >= best.at) best = one;
    return best?.guid ?? -1;
  }

  /** The link between two nodes, or −1. @param {number} a @param {number} b */
  linkOf(a, b) {
    for (let i = this.near.from[a]; i < this.near.from[a + 1]; i += 1) if (this.near.to[i] === b) return this.near.link[i];
    return -1;
  }

  /** @param {T.AnyFault} fault @override */
  fault(fault) {
    const branch = super.fault(fault);
    this.#another();
    return branch;
  }
  /** @param {number} id @param {number} now @override */
  useBranch(id, now) {
    super.useBranch(id, now);
    this.#another();
  }
  #another() {
    this.#generation += 1;
    this.#links = -1;
    this.flights.clear();
  }
  /** Another branch, another future. */
  get generation() { return this.#generation; }
  /** The thousands of nodes of a simulated overlay are asked for once; a running servent finds others. @override */
  refreshNodes() {
    if (this.kind !== 'trace') return;
    const many = this.nodes.length;
    super.refreshNodes();
    if (this.nodes.length === many) return;
    this.#links = -1;
    this.#place();
  }

  /** @param {number} node */
  tables(node) { return this.source.tables(node, 0, 12); }
  /** Of a node, or of all. @param {number} [node] */
  counters(node) { return this.source.counters(node); }

  /**
   * The record of the verdict about a message, or of its departure while there
   * is none.
   * @param {number} i
   */
  verdict(i) {
    const { due, seq, id } = this.flights;
    const { count } = this;
    let [low, high] = [seq[i], count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.record(middle).at < due[i]) low = middle + 1;
      else high = middle;
    }
    for (let at = low; at < Math.min(count, low + INSTANT); at += 1) {
      const { at: when, event } = this.record(at);
      if (when > due[i]) break;
      const body = event.message;
      if (body && body.id === id[i] && body.what !== 'sent') return at;
    }
    return seq[i];
  }

  /** The name of the node a hit comes from or a push wants. @param {T.LabRecord} record @override */
  named(record) {
    const [body] = Object.values(record.event);
    if (typeof body.of === 'number') body.of_name = this.name(body.of);
    return super.named(record);
  }
}
