/** What the search has found, as the pictures need it: whatever is not in it is drawn pale. */
import { isHidden } from '#lab/session/future.js';
import { Finder } from '#lab/search.js';

/** @import * as T from '../types' */
/** @import { Run } from './run.js' */

/** What looking may take of a frame, in milliseconds. */
const LOOK_MS = 3;
/** Events are gathered up to this many. */
const FOUND = 50_000;

/** What was found in one run. */
export class Find {
  /** Counts up whenever there is more. */ edition = 0;
  count = 0;
  done = false;
  /** Records. @type {Set<number>} */ seqs = new Set();
  /** Who it is about. @type {Set<number>} */ nodes = new Set();
  /** The same by their names, and by the places they hold. @type {Set<string>} */ names = new Set();
  /** Messages and datagrams. @type {Set<number>} */ ids = new Set();
  /** What happened at a node at an instant: `node/at`. @type {Set<string>} */ moments = new Set();
  #finder = new Finder();
  /** @type {T.LabRecord[]|null} */ #list = null;
  #read = 0;

  /** Goes on looking; true when all is looked through. @param {Run} run @param {string} query @param {string} where */
  look(run, query, where) {
    this.done = this.#finder.look(run, query, where, LOOK_MS, FOUND);
    const { found } = this.#finder;
    if (found !== this.#list) this.#forget(found);
    const before = this.count;
    const past = isHidden() ? run.index : Infinity;
    for (; this.#read < found.length && found[this.#read].seq < past; this.#read += 1) this.#take(run, found[this.#read]);
    this.count = this.#read;
    if (this.count !== before) this.edition += 1;
    return this.done;
  }

  /** @param {T.LabRecord[]} list */
  #forget(list) {
    this.#list = list;
    this.#read = this.count = 0;
    for (const set of [this.seqs, this.nodes, this.names, this.ids, this.moments]) set.clear();
    this.edition += 1;
  }

  /** @param {Run} run @param {T.LabRecord} record */
  #take(run, record) {
    const [body] = Object.values(record.event);
    this.seqs.add(record.seq);
    // Many may leave a node at one instant: what has a number of its own is meant alone.
    if (typeof body.id === 'number') this.ids.add(body.id);
    else this.moments.add(`${record.node}/${record.at}`);
    for (const node of [record.node, body.from, body.to, body.of]) if (typeof node === 'number') this.nodes.add(node);
    if (typeof body.ticket === 'string') this.names.add(body.ticket);
    const { who, node_name: name } = run.named(record);
    for (const one of [who, name]) if (one) this.names.add(one);
  }
}

/** What is looked for, in every run that is shown. */
export class Sought {
  query = '';
  /** @type {WeakMap<Run, Find>} */ #finds = new WeakMap();

  /** What was found in a run; null while nothing is looked for. @param {Run} run */
  in(run) { return this.query === '' ? null : this.#finds.get(run) ?? null; }

  /** Goes on looking in all runs; true when all are looked through. @param {Run[]} runs @param {number[]} branches */
  look(runs, branches) {
    if (this.query === '') return true;
    return runs.map((run, i) => {
      if (!this.#finds.has(run)) this.#finds.set(run, new Find());
      return /** @type {Find} */ (this.#finds.get(run)).look(run, this.query, String(branches[i]));
    }).every(Boolean);
  }
}
