/**
 * The flows that share one line: what arrives of each, what its controller
 * allows, and how long everything waits before the line.
 */
import { firstFrom } from '#lab/ladder/axis.js';

/** @import * as T from './types' */
/** @import { Conditions, Wait } from './conditions.js' */
/** @import { UnicastRun } from './run.js' */

/** What each has of the line is counted over so long. */
const SHARE_US = 1e6;
/** A controller that allows at least so much less has slowed down. */
const SLOWER = 0.15;
/** What follows within so long is the same slowdown. */
const ONE_US = 300e3;

/** @typedef {{at: number, rate: number|null, window: number}} Step */
/** @typedef {{at: number, seq: number, rate: number|null, window: number}} Slowdown */

/** A controller by its name; a fixed window has a number too. @param {NonNullable<T.Party['congestion']>} congestion */
const controlOf = (congestion) => (typeof congestion === 'string' ? congestion : 'fixed');

/** One sender on the line. */
class Flow {
  /** @type {Step[]} */ steps = [];
  /** When it was allowed less. @type {Slowdown[]} */ slower = [];
  /** When its datagrams arrived, and the bytes of all until then. @type {number[]} */ at = [];
  /** @type {number[]} */ sum = [];

  /** @param {number} node @param {string} name @param {string} control */
  constructor(node, name, control) {
    this.node = node;
    this.name = name;
    this.control = control;
  }

  /** @param {T.LifelineMark} mark */
  allow({ at, seq, rate, window }) {
    const step = { at, rate: rate === undefined || rate === null ? null : Number(rate), window: Number(window ?? 0) };
    const before = this.steps.at(-1);
    const less = before && (step.window < before.window * (1 - SLOWER) || (step.rate !== null && before.rate !== null && step.rate < before.rate * (1 - SLOWER)));
    if (less && at - (this.slower.at(-1)?.at ?? -Infinity) > ONE_US) this.slower.push({ ...step, seq });
    this.steps.push(step);
  }

  /** @param {number} at @param {number} bytes */
  arrived(at, bytes) {
    this.at.push(at);
    this.sum.push((this.sum.at(-1) ?? 0) + bytes);
  }

  /** When the last of them arrived. */
  get last() { return this.at.at(-1) ?? 0; }

  /** The bytes that had arrived by then. @param {number} at */
  until(at) { return this.sum[firstFrom(this.at, at + 1) - 1] ?? 0; }

  /** The bytes that arrived after one instant and until another. @param {number} from @param {number} to */
  between(from, to) { return this.until(to) - this.until(from); }

  /** What its controller allows then. @param {number} at @returns {Step|undefined} */
  allowed(at) { return this.steps.findLast((step) => step.at <= at); }
}

/** All that send over one line to one node, where at least two of them are controlled. */
export class Flows {
  /** @type {Flow[]} */ all = [];
  /** What each datagram waited, and at most. @type {Wait[]} */ waits = [];
  longest = 1;
  /** Bytes a second that the line carries; 0: any. */ rate = 0;
  /** How long one waits behind a full buffer, in microseconds; 0: there is none. */ depth = 0;
  /** Whether their controllers differ: then it is they that are looked at. */ mixed = false;

  /** @param {UnicastRun} run @param {Conditions} conditions */
  constructor(run, { waits, longest, at }) {
    const { scenario } = run;
    if (!scenario?.shared) return;
    const controlled = run.marks.filter((mark) => mark.kind === 'controlled');
    const sinks = Map.groupBy(controlled, (mark) => mark.peer);
    const [to] = [...sinks.keys()].filter((peer) => new Set(sinks.get(peer)?.map(({ node }) => node)).size > 1);
    if (to === undefined || to === null) return;
    const { link } = scenario.ways.find((/** @type {T.PathDirection} */ way) => way.to === to) ?? scenario;
    this.rate = link.rate;
    this.depth = link.rate ? (1e6 * link.queue) / link.rate : 0;
    [this.waits, this.longest, this.#sent] = [waits, longest, at];
    /** @type {Map<number, Flow>} */
    const flows = new Map();
    for (const mark of sinks.get(to) ?? []) {
      const { name, congestion } = scenario.nodes[mark.node];
      const flow = flows.get(mark.node) ?? new Flow(mark.node, name, controlOf(congestion ?? scenario.config.congestion));
      flows.set(mark.node, flow);
      flow.allow(mark);
    }
    const landed = run.arrows.filter((arrow) => arrow.to === to && arrow.fate === 'arrived' && arrow.at !== null && arrow.copy_of === null);
    for (const arrow of landed.sort((a, b) => Number(a.at) - Number(b.at))) flows.get(arrow.from)?.arrived(Number(arrow.at), arrow.bytes);
    this.all = [...flows.values()].sort((a, b) => a.node - b.node);
    this.mixed = new Set(this.all.map(({ control }) => control)).size > 1;
  }
  /** @type {number[]} */ #sent = [];

  get any() { return this.all.length > 1; }

  /** What arrived of each within the last second: bytes a second, and its part of all. @param {number} now */
  shares(now) {
    const from = Math.max(0, now - SHARE_US);
    const bytes = this.all.map((flow) => flow.between(from, now));
    const all = bytes.reduce((sum, one) => sum + one, 0);
    return bytes.map((one) => ({ rate: (1e6 * one) / Math.max(1, now - from), part: all ? one / all : 0 }));
  }

  /** What the last datagram waits that was sent by then, in microseconds; the queue is shorter by what has passed since. @param {number} now */
  waiting(now) {
    for (let i = firstFrom(this.#sent, now + 1) - 1; i >= 0 && now - this.waits[i].at < 1e6; i -= 1) {
      if (!this.waits[i].lost) return Math.max(0, this.waits[i].wait - (now - this.waits[i].at));
    }
    return 0;
  }

  /** The slowdown that a person asks about: the last one before now, or else the next, where that may be told. @param {Flow} flow @param {number} now @param {boolean} hidden */
  asked({ slower }, now, hidden) {
    return slower.findLast(({ at }) => at < now) ?? (hidden ? undefined : slower.find(({ at }) => at > now));
  }
}
