/** A run of servents: the queue of one server, and who is who on it. */
import { host } from '#lab/format.js';
import { Run } from '#lab/session/run.js';

/** @import * as T from '../types' */

/** As often a site changes hands, at most, as far as the picture follows. */
const LEADS = 1000;

/** @extends {Run<import('#servent').Queue | import('#servent').Tape>} */
export class QueueRun extends Run {
  /** The server whose queue is shown; without one, the member that leads the site, or the first. @type {number|null} */ shown = null;
  /** Who holds which place, as far as what was shown has said. @type {Map<string, string>} */
  names = new Map();

  /** How the servent stands by its own word, for a tape that does not reach back to its start. @type {null|(() => any)} */ stands = null;
  /** What was last asked of the lanes. */
  sights = { sync: 0, async: 0, grace: 0, count: 0 };

  get servers() { return this.nodes.filter((n) => n.role === 'server'); }
  get server() {
    const { servers } = this;
    const shown = this.shown ?? this.#leader();
    return servers.find((n) => n.id === shown) ?? servers[0] ?? this.nodes[0];
  }

  /** Who leads the site at the cursor, or has led it last; null where the servers are no site, or none has led. @returns {number|null} */
  #leader() {
    this.#site ??= this.kind === 'scenario' && Boolean(this.scenario?.site);
    if (!this.#site) return null;
    const { index } = this;
    if (index > this.#asked) {
      this.#asked = this.count;
      this.#leads = this.records(0, LEADS, '"leads"').map(({ seq, node }) => ({ seq, node }));
    }
    return this.#leads.findLast(({ seq }) => seq < index)?.node ?? null;
  }
  /** Whether the servers are one site. @type {boolean|null} */ #site = null;
  /** When a member began to lead, among the first records, as many as were asked. @type {{seq: number, node: number}[]} */ #leads = [];
  #asked = -1;

  /** @param {T.AnyFault} fault @override */
  fault(fault) {
    this.#asked = -1;
    return super.fault(fault);
  }
  /** @param {number} id @param {number} now @override */
  useBranch(id, now) {
    this.#asked = -1;
    super.useBranch(id, now);
  }

  /** @override */
  get home() { return this.server; }

  /** @param {number} from @param {number} count */
  positions(from, count) { return this.source.positions(this.server.id, from, count); }
  /** The queue with so many cards of each lane, from the given one on. @param {{sync: number, async: number, grace: number}} from @param {number} count @returns {T.QueueState} */
  lanes(from, count) {
    this.sights = { ...from, count };
    const stands = this.stands?.();
    if (stands) return { clients: [], done: [], ...stands };
    return this.source.lanes(this.server.id, from.sync, from.async, from.grace, count);
  }
  /** What the queue of the server that is shown comes to; none for a tape without a beginning. */
  totals() { return this.source.totals(this.server.id); }
  /** @param {number} node @override */
  inspect(node) {
    const stands = this.stands?.();
    if (!stands) return super.inspect(node);
    const { at, lanes, ...view } = stands;
    return view;
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
    this.names.set(this.kind === 'trace' ? peer : host(peer), name);
  }

  /** @param {string} ticket @param {string} peer */
  nameOf(ticket, peer) {
    return this.names.get(ticket) ?? this.names.get(this.kind === 'trace' ? peer : host(peer)) ?? null;
  }

  /** Adds the name of the client a record is about. @param {T.LabRecord} record @override */
  named(record) {
    const { ticket, peer } = Object.values(record.event)[0];
    // What happens to one client may be caused by another: the place says whose it is.
    if (typeof ticket === 'string') record.who = this.names.get(ticket) ?? this.#holder(ticket, record);
    else record.who ??= this.nameOf('', String(peer));
    return super.named(record);
  }

  /** Who holds a place: found where it was given. @param {string} ticket @param {T.LabRecord} record */
  #holder(ticket, record) {
    const given = this.records(0, 1, `"arrived" ${ticket}`)[0] ?? record;
    const peer = String(Object.values(given.event)[0].peer);
    const name = given.who ?? this.nameOf('', peer) ?? (peer === 'undefined' ? null : peer);
    if (name) this.names.set(ticket, name);
    return name;
  }
}
