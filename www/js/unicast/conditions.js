/**
 * What congestion control does and what it leads to, as lines beside the
 * arrows: to the left the rate and the window of each sender, to the right how
 * long the datagrams waited in the queue of the line.
 */
import { firstFrom } from '#lab/ladder/axis.js';
import { FLOWS } from '#lab/unicast/look.js';

/** @import { Axis } from '../ladder/axis.js' */
/** @import { Palette } from './look.js' */
/** @import { UnicastRun } from './run.js' */

/** Room above a line for its name. */
const NAME_PX = 14;

/** @typedef {{at: number, rate: number, window: number}} Step */
/** @typedef {{name: string, steps: Step[]}} Pace */
/** @typedef {{at: number, wait: number, lost: boolean}} Wait */

export class Conditions {
  /** @type {Pace[]} */ paces = [];
  /** What each datagram waited, by when it was sent. @type {Wait[]} */ waits = [];

  /** @param {UnicastRun} run @param {number} receiver */
  constructor(run, receiver) {
    for (const { id, name } of run.nodes) {
      const marks = run.marks.filter((mark) => mark.node === id && mark.kind === 'controlled');
      if (marks.length) this.paces.push({ name, steps: marks.map(({ at, rate, window }) => ({ at, rate: Number(rate ?? 0), window: Number(window ?? 0) })) });
    }
    if (!this.paces.length) return;
    const there = run.arrows.filter((arrow) => arrow.to === receiver && arrow.copy_of === null);
    // The shortest way is the one on which nothing waits.
    const least = Math.min(...there.map((arrow) => arrow.due - arrow.sent));
    this.waits = there.map((arrow) => ({ at: arrow.sent, wait: Math.max(0, arrow.due - arrow.sent - least), lost: arrow.fate === 'lost' && String(arrow.why) === 'queue' }));
    this.longest = Math.max(1, ...this.waits.map(({ wait }) => wait));
    const steps = this.paces.flatMap((pace) => pace.steps);
    this.fastest = Math.max(1, ...steps.map(({ rate }) => rate));
    this.widest = Math.max(1, ...steps.map(({ window }) => window));
    this.at = this.waits.map(({ at }) => at);
  }
  longest = 1;
  fastest = 1;
  widest = 1;
  /** @type {number[]} */ at = [];

  /** True when something controls how fast it is sent. */
  get any() { return this.paces.length > 0; }
}

/**
 * Rate and window of each sender, from left to right.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Conditions} conditions
 * @param {{x: number, width: number, axis: Axis, from: number, to: number, until: number, colours: Palette}} where
 */
export function paces(ctx, { paces: all, fastest, widest }, { x, width, axis, from, to, until, colours }) {
  all.forEach(({ name, steps }, i) => {
    const { colour, dash } = FLOWS[i % FLOWS.length];
    for (const [ink, of] of /** @type {const} */ ([['held', (/** @type {Step} */ step) => step.window / widest], [colour, (/** @type {Step} */ step) => step.rate / fastest]])) {
      ctx.strokeStyle = colours[ink];
      ctx.lineWidth = ink === 'held' ? 1.25 : 2;
      ctx.setLineDash(dash);
      ctx.beginPath();
      steps.forEach((step, j) => {
        const end = Math.min(steps[j + 1]?.at ?? until, until);
        if (step.at > until || end < from || step.at > to) return;
        const across = x + width * of(step);
        ctx.lineTo(across, axis.of(Math.max(step.at, from)));
        ctx.lineTo(across, axis.of(Math.min(end, to)));
      });
      ctx.stroke();
    }
    ctx.setLineDash([]);
    const first = steps.find((step) => step.at >= from && step.at <= Math.min(to, until));
    if (!first) return;
    ctx.font = `700 ${colours.size}px ${colours.font}`;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
    ctx.fillStyle = colours[colour];
    ctx.fillText(name, x + (i * width) / all.length, axis.of(first.at) - NAME_PX / 3, width / all.length);
  });
}

/**
 * The queue: how long each datagram waited, and a sign where it was full.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Conditions} conditions
 * @param {{x: number, width: number, axis: Axis, from: number, to: number, until: number, colours: Palette}} where
 */
export function queue(ctx, { waits, at, longest }, { x, width, axis, from, to, until, colours }) {
  for (let i = firstFrom(at, from); i < waits.length && waits[i].at <= Math.min(to, until); i += 1) {
    const y = axis.of(waits[i].at);
    const next = Math.min(axis.of(waits[i + 1]?.at ?? waits[i].at), y + 6);
    ctx.fillStyle = waits[i].lost ? colours.lost : colours.held;
    ctx.fillRect(x, y, waits[i].lost ? width : (width * waits[i].wait) / longest, Math.max(1, next - y));
  }
}
