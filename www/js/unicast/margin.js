/**
 * What stands beside the lifelines: on the sender's side HA and HS as two
 * stairs, with what is unacknowledged between them; on the receiver's side the
 * window as a bitmap whose rows are time and whose columns are numbers.
 */
import { firstFrom } from '#lab/ladder/axis.js';

/** @import { Axis } from '../ladder/axis.js' */
/** @import { UnicastRun } from './run.js' */
/** @import { Palette } from './look.js' */

/** A column is at most so wide. */
const COLUMN_PX = 9;

/** A height at an instant, for one connection. @typedef {{at: number, low: number, high: number}} Stair */
/** A number at the receiver: when it came and when it was handed on. @typedef {{n: number, came: number, taken: number, conn: string}} Cell */

/** What the margins show, gathered once for all that is known. */
export class Margins {
  /** HA and HS of the sender. @type {Stair[]} */ stairs = [];
  /** Numbers at the receiver, by when they came. @type {Cell[]} */ cells = [];
  /** When the receiver lost what it held. @type {number[]} */ ends = [];

  /** @param {UnicastRun} run @param {number} sender @param {number} receiver */
  constructor(run, sender, receiver) {
    this.#climb(run, sender);
    this.#gather(run, receiver);
    this.came = this.cells.map((c) => c.came);
    this.steps = this.stairs.map((s) => s.at);
    let most = 0;
    /** The highest number that had come with each cell: where the columns in sight begin. */
    this.reach = this.cells.map((c) => (most = Math.max(most, c.n)));
  }

  /** @param {UnicastRun} run @param {number} node */
  #climb(run, node) {
    /** @type {{at: number, ha?: number, hs?: number, conn?: string}[]} */
    const steps = [];
    for (const arrow of run.arrows) {
      if (arrow.from !== node || arrow.copy_of !== null) continue;
      for (const { data } of arrow.blocks) if (data) steps.push({ at: arrow.sent, hs: data.to, conn: data.conn });
    }
    for (const mark of run.marks) {
      if (mark.node === node && mark.kind === 'acked') steps.push({ at: mark.at, ha: Number(mark.ha), hs: Number(mark.hs), conn: String(mark.conn) });
    }
    steps.sort((a, b) => a.at - b.at);
    let [low, high, conn] = [0, 0, ''];
    for (const step of steps) {
      // A new connection begins to count anew.
      if (step.conn !== conn) [low, high, conn] = [0, 0, step.conn ?? ''];
      const [l, h] = [Math.max(low, step.ha ?? 0), Math.max(high, step.hs ?? 0)];
      if (l !== low || h !== high) this.stairs.push({ at: step.at, low: l, high: h });
      [low, high] = [l, h];
    }
  }

  /** @param {UnicastRun} run @param {number} node */
  #gather(run, node) {
    /** @type {Map<string, Cell>} */
    const seen = new Map();
    const landed = run.arrows.filter((a) => a.to === node && run.taken(a)).sort((a, b) => Number(a.at) - Number(b.at));
    for (const { at, blocks } of landed) {
      for (const { data } of blocks) {
        for (let n = data?.from ?? 1; data && n <= data.to; n += 1) {
          const key = `${data.conn}/${n}`;
          if (!seen.has(key)) seen.set(key, { n, came: Number(at), taken: Infinity, conn: data.conn });
        }
      }
    }
    for (const mark of run.marks) {
      if (mark.node !== node) continue;
      if (mark.kind === 'crashed') this.ends.push(mark.at);
      if (mark.kind === 'closed' && mark.side === 'receiver') this.ends.push(mark.at);
      if (mark.kind !== 'delivered') continue;
      const cell = seen.get(`${mark.conn}/${mark.seq_no}`);
      if (cell) cell.taken = Math.min(cell.taken, mark.at);
    }
    // A message in parts is handed on with its last number.
    const byConn = Map.groupBy([...seen.values()], (c) => c.conn);
    for (const cells of byConn.values()) {
      let taken = Infinity;
      for (const cell of cells.sort((a, b) => b.n - a.n)) {
        if (cell.taken !== Infinity) taken = cell.taken;
        else if (taken !== Infinity) cell.taken = Math.max(taken, cell.came);
      }
    }
    this.cells = [...seen.values()].sort((a, b) => a.came - b.came);
    this.ends.sort((a, b) => a - b);
  }

  /** HA and HS at an instant. @param {number} at */
  heights(at) {
    const i = firstFrom(this.steps, at + 1) - 1;
    return this.stairs[i] ?? { at: 0, low: 0, high: 0 };
  }

  /** The numbers that matter between two instants. @param {number} from @param {number} to */
  span(from, to) {
    const a = this.heights(from);
    const b = this.heights(to);
    // A connection that began anew in between counts from its start.
    const low = Math.min(a.low, b.low, ...this.stairs.slice(firstFrom(this.steps, from), firstFrom(this.steps, to)).map((s) => s.low));
    return { low, high: Math.max(a.high, b.high, low + 1) };
  }
}

/** How numbers become columns. @param {{low: number, high: number}} span @param {number} width */
export function columns({ low, high }, width) {
  const most = Math.max(1, Math.floor(width));
  const first = Math.max(low, high - most);
  const step = Math.min(COLUMN_PX, width / (high - first));
  return { first, step, x: (/** @type {number} */ n) => (n - first - 1) * step };
}

/**
 * The two stairs, from left to right, with what is unacknowledged between.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Margins} margins
 * @param {{x: number, width: number, axis: Axis, from: number, to: number, until: number, colours: Palette}} where `until`: beyond it lies the future
 */
export function stairs(ctx, margins, { x, width, axis, from, to, until, colours }) {
  const { stairs: all, steps } = margins;
  const scale = columns(margins.span(from, to), width);
  const edge = (/** @type {number} */ n) => x + Math.max(0, scale.x(n + 1));
  for (let i = Math.max(0, firstFrom(steps, from) - 1); i < all.length && all[i].at <= to; i += 1) {
    const { at, low, high } = all[i];
    const [top, bottom] = [axis.of(at), axis.of(Math.min(all[i + 1]?.at ?? to, to))];
    ctx.globalAlpha = at > until ? 0.3 : 1;
    ctx.fillStyle = colours.taken;
    ctx.fillRect(x, top, edge(low) - x, bottom - top);
    ctx.fillStyle = colours['held-wash'];
    ctx.fillRect(edge(low), top, edge(high) - edge(low), bottom - top);
    ctx.fillStyle = colours.ack;
    ctx.fillRect(edge(low) - 0.75, top, 1.5, bottom - top);
    ctx.fillStyle = colours.data;
    ctx.fillRect(edge(high) - 0.75, top, 1.5, bottom - top);
  }
  ctx.globalAlpha = 1;
}

/**
 * The bitmap: a number is hatched from when it came and solid from when it was
 * handed on; what is missing stays empty.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Margins} margins
 * @param {{x: number, width: number, axis: Axis, from: number, to: number, until: number, colours: Palette}} where
 */
export function bitmap(ctx, margins, { x, width, axis, from, to, until, colours }) {
  const scale = columns(margins.span(from, to), width);
  const last = firstFrom(margins.came, to);
  const gap = scale.step > 4 ? 1 : 0;
  const wide = Math.max(0.75, scale.step - gap);
  for (let i = firstFrom(margins.reach, scale.first + 1); i < last; i += 1) {
    const { n, came, taken } = margins.cells[i];
    if (n <= scale.first) continue;
    const end = margins.ends[firstFrom(margins.ends, came)] ?? Infinity;
    const stop = Math.min(end, to);
    if (stop <= from) continue;
    const left = x + scale.x(n);
    const [top, middle, bottom] = [axis.of(came), axis.of(Math.min(taken, stop)), axis.of(stop)];
    ctx.globalAlpha = came > until ? 0.3 : 1;
    if (middle > top) {
      ctx.fillStyle = colours['held-wash'];
      ctx.fillRect(left, top, wide, middle - top);
      ctx.fillStyle = colours.held;
      for (let y = Math.max(top, axis.of(from)); y < middle; y += 4) ctx.fillRect(left, y, wide, 1.25);
    }
    ctx.globalAlpha = taken > until ? 0.3 : 1;
    ctx.fillStyle = colours.taken;
    if (bottom > middle) ctx.fillRect(left, middle, wide, bottom - middle);
    // Where it was handed on there is a step to be seen.
    if (taken < stop) {
      ctx.fillStyle = colours.ack;
      ctx.fillRect(left, middle - 1, wide, 2);
    }
  }
  ctx.globalAlpha = 1;
}
