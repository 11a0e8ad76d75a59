/**
 * The flows of one line as a chart: time runs to the right on the clock of the page, and
 * below each other lie what arrives of each, what each may send, the windows and the queue.
 */
import { fixed } from '#lab/format.js';
import { isHidden } from '#lab/session/future.js';
import { t } from '#lab/strings.js';
import { density } from '#lab/theme.js';
import { cross } from '#lab/ladder/draw.js';
import { FLOWS } from '#lab/unicast/look.js';

/** @import { Flows } from './flows.js' */
/** @import { Palette } from './look.js' */

/** Columns in which what arrives is counted, and the least time of one. */
const [COLUMNS, LEAST_US] = [90, 40e3];
/** What may be sent is drawn up to so many times the rate of the line. */
const MOST_RATES = 2;
/** How the future is drawn. */
const PALE = 0.28;
/** Room between two strips, above the first and right of all, in pixels. */
const [GAP, TOP, RIGHT] = [7, 6, 10];
/** Steps of the axis of time, in seconds, and how far its words keep apart. */
const [STEPS, APART] = [[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60], 64];
/** How strongly what arrives is filled. */
const FILLED = 0.5;

/** @typedef {{y: number, height: number}} Strip */
/** @typedef {{width: number, height: number, left: number, right: number, end: number, strips: Strip[], foot: number, x: (at: number) => number}} Room */

/** Where everything is. @param {number} width @param {number} height @param {number} end @param {Palette} colours @returns {Room} */
export function room(width, height, end, { gutter, size }) {
  const left = Math.min(gutter, width / 5);
  const right = width - RIGHT;
  const foot = height - size * 1.6;
  const each = (foot - TOP - 3 * GAP) / 4;
  const strips = [0, 1, 2, 3].map((i) => ({ y: TOP + i * (each + GAP), height: each }));
  return { width, height, left, right, end, strips, foot, x: (at) => left + ((right - left) * at) / Math.max(1, end) };
}

/** The picture but for the present; it is made when something else is known, and shown in parts. */
export class Chart {
  canvas = document.createElement('canvas');
  #shape = '';
  /** @type {Flows|null} */ #flows = null;
  /** The highest value of each strip. */
  #tops = [1, 1, 1, 1];

  /** @param {CanvasRenderingContext2D} ctx @param {Flows} flows @param {{room: Room, now: number, colours: Palette}} look */
  paint(ctx, flows, { room: where, now, colours }) {
    const { width, height, x, right } = where;
    const scale = density();
    const shape = `${Object.values(colours).join()}|${width}|${height}|${scale}|${where.end}`;
    if (shape !== this.#shape || flows !== this.#flows) {
      [this.#shape, this.#flows] = [shape, flows];
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      const inner = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
      inner.setTransform(scale, 0, 0, scale, 0, 0);
      this.#tops = tops(flows);
      lines(inner, flows, where, colours, this.#tops);
    }
    ctx.clearRect(0, 0, width, height);
    frame(ctx, flows, where, colours, this.#tops);
    const here = Math.min(right, x(now));
    this.#part(ctx, 0, here, height, scale, 1);
    if (!isHidden()) this.#part(ctx, here, width, height, scale, PALE);
    words(ctx, where, colours);
    ctx.fillStyle = colours.accent;
    ctx.fillRect(here - 0.75, 0, 1.5, where.foot);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} from @param {number} to @param {number} height @param {number} scale @param {number} alpha */
  #part(ctx, from, to, height, scale, alpha) {
    const [a, b] = [Math.round(from * scale), Math.round(to * scale)];
    if (b <= a) return;
    ctx.globalAlpha = alpha;
    ctx.drawImage(this.canvas, a, 0, b - a, this.canvas.height, a / scale, 0, (b - a) / scale, height);
    ctx.globalAlpha = 1;
  }
}

/** @param {Flows} flows */
function tops({ all, rate, depth, longest }) {
  const steps = all.flatMap((flow) => flow.steps);
  const most = Math.max(1, ...steps.map((step) => step.rate ?? 0));
  const line = rate || most;
  return [line * 1.06, Math.min(most, line * MOST_RATES), Math.max(1, ...steps.map((step) => step.window)), Math.max(depth * 1.06, longest)];
}

/** Grounds, scales and the axis of time. @param {CanvasRenderingContext2D} ctx @param {Flows} flows @param {Room} where @param {Palette} colours @param {number[]} most */
function frame(ctx, flows, { left, right, end, strips, foot, x }, colours, [, rate, window, wait]) {
  const { size, font } = colours;
  ctx.setLineDash([]);
  ctx.font = `${size}px ${font}`;
  ctx.textBaseline = 'top';
  ctx.textAlign = 'right';
  const scales = [t('flows.rate', { rate: flows.rate || rate }), t('flows.rate', { rate }), t('flows.bytes', { kb: fixed(window / 1e3, 0) }), `${Math.round((flows.depth || wait) / 1e3)} ms`];
  strips.forEach(({ y, height }, i) => {
    ctx.fillStyle = colours.surface;
    ctx.fillRect(left, y, right - left, height);
    ctx.fillStyle = colours.line;
    ctx.fillRect(left, y + height, right - left, 1);
    ctx.fillStyle = colours['ink-soft'];
    ctx.fillText(scales[i], left - 6, y, left - 8);
  });
  const step = STEPS.find((seconds) => x(seconds * 1e6) - x(0) >= APART) ?? 60;
  ctx.textAlign = 'center';
  for (let s = 0; s * 1e6 <= end; s += step) {
    const at = x(s * 1e6);
    ctx.fillStyle = colours.line;
    for (const { y, height } of strips) ctx.fillRect(at, y, 1, height);
    ctx.fillStyle = colours['ink-soft'];
    const words = `${fixed(s, step < 1 ? 1 : 0)} s`;
    const half = ctx.measureText(words).width / 2;
    ctx.fillText(words, Math.min(at, right + RIGHT - half), foot + size * 0.35);
  }
}

/** What each strip shows, over what it shows. @param {CanvasRenderingContext2D} ctx @param {Room} where @param {Palette} colours */
function words(ctx, { left, strips }, { size, font, surface, ink }) {
  ctx.font = `600 ${size}px ${font}`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  strips.forEach(({ y }, i) => {
    const said = t(`flows.strip.${i}`);
    ctx.globalAlpha = 0.85;
    ctx.fillStyle = surface;
    ctx.beginPath();
    ctx.roundRect(left + 3, y + 2, ctx.measureText(said).width + 10, size * 1.4, size * 0.7);
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.fillStyle = ink;
    ctx.fillText(said, left + 8, y + 2 + size * 0.72);
  });
}

/** All that is known. @param {CanvasRenderingContext2D} ctx @param {Flows} flows @param {Room} where @param {Palette} colours @param {number[]} most */
function lines(ctx, flows, where, colours, [share, rate, window, wait]) {
  const [arrives, sends, windows, waits] = where.strips;
  arriving(ctx, flows, where, arrives, share, colours);
  level(ctx, where, arrives, flows.rate / share, colours);
  stepped(ctx, flows, where, sends, (step) => (step.rate ?? 0) / rate, colours);
  stepped(ctx, flows, where, windows, (step) => step.window / window, colours);
  slowed(ctx, flows, where, sends, (step) => (step.rate ?? 0) / rate, colours);
  queued(ctx, flows, where, waits, wait, colours);
  level(ctx, where, waits, flows.depth / wait, colours);
}

/** What cannot be exceeded. @param {CanvasRenderingContext2D} ctx @param {Room} where @param {Strip} strip @param {number} part @param {Palette} colours */
function level(ctx, { left, right }, { y, height }, part, colours) {
  if (!part) return;
  ctx.strokeStyle = colours['line-strong'];
  ctx.lineWidth = 1;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  ctx.moveTo(left, y + height * (1 - part));
  ctx.lineTo(right, y + height * (1 - part));
  ctx.stroke();
  ctx.setLineDash([]);
}

/** What arrives of each, one upon the other. @param {CanvasRenderingContext2D} ctx @param {Flows} flows @param {Room} where @param {Strip} strip @param {number} top @param {Palette} colours */
function arriving(ctx, { all }, { end, x }, { y, height }, top, colours) {
  const bin = Math.max(LEAST_US, end / COLUMNS);
  const count = Math.ceil(end / bin);
  const floor = Array(count).fill(0);
  all.forEach((flow, i) => {
    const { colour, dash } = FLOWS[i % FLOWS.length];
    const from = [...floor];
    for (let j = 0; j < count; j += 1) floor[j] += (1e6 * flow.between(j * bin, (j + 1) * bin)) / bin;
    const at = (/** @type {number[]} */ values, /** @type {number} */ j) => y + height * (1 - Math.min(1, values[j] / top));
    const edge = (/** @type {number[]} */ values) => values.forEach((_, j) => { ctx.lineTo(x(j * bin), at(values, j)); ctx.lineTo(x(Math.min(end, (j + 1) * bin)), at(values, j)); });
    ctx.beginPath();
    edge(floor);
    for (let j = count - 1; j >= 0; j -= 1) { ctx.lineTo(x(Math.min(end, (j + 1) * bin)), at(from, j)); ctx.lineTo(x(j * bin), at(from, j)); }
    ctx.closePath();
    ctx.save();
    ctx.clip();
    ctx.globalAlpha = dash.length ? FILLED / 2 : FILLED;
    ctx.fillStyle = colours[colour];
    ctx.fillRect(x(0), y, x(end) - x(0), height);
    ctx.globalAlpha = 1;
    if (dash.length) hatch(ctx, x(0), x(end), y, height, colours[colour], i);
    ctx.restore();
    ctx.strokeStyle = colours[colour];
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    edge(floor);
    ctx.stroke();
  });
}

/** @param {CanvasRenderingContext2D} ctx @param {number} from @param {number} to @param {number} y @param {number} height @param {string} colour @param {number} i the sender */
function hatch(ctx, from, to, y, height, colour, i) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (let x = from - height; x < to + height; x += 6) {
    ctx.moveTo(x, i % 2 ? y + height : y);
    ctx.lineTo(x + height, i % 2 ? y : y + height);
  }
  ctx.stroke();
}

/** A line of each, in steps. @param {CanvasRenderingContext2D} ctx @param {Flows} flows @param {Room} where @param {Strip} strip @param {(step: import('./flows.js').Step) => number} part @param {Palette} colours */
function stepped(ctx, { all }, { end, x }, { y, height }, part, colours) {
  all.forEach(({ steps, last }, i) => {
    const { colour, dash } = FLOWS[i % FLOWS.length];
    ctx.strokeStyle = colours[colour];
    ctx.lineWidth = 1.75;
    ctx.setLineDash(dash);
    ctx.beginPath();
    steps.forEach((step, j) => {
      const at = y + height * (1 - Math.min(1, part(step)));
      ctx.lineTo(x(step.at), at);
      ctx.lineTo(x(Math.min(end, steps[j + 1]?.at ?? Math.max(step.at, last))), at);
    });
    ctx.stroke();
    ctx.setLineDash([]);
  });
}

/** Where a sender became slower: full for the first of them, hollow for the others. @param {CanvasRenderingContext2D} ctx @param {Flows} flows @param {Room} where @param {Strip} strip @param {(step: import('./flows.js').Step) => number} part @param {Palette} colours */
function slowed(ctx, { all }, { x }, { y, height }, part, colours) {
  all.forEach(({ slower }, i) => {
    ctx.strokeStyle = colours[FLOWS[i % FLOWS.length].colour];
    ctx.fillStyle = i === 0 ? ctx.strokeStyle : colours.surface;
    ctx.lineWidth = 1.25;
    for (const step of slower) {
      const [at, tip] = [x(step.at), y + height * (1 - Math.min(1, part(step)))];
      ctx.beginPath();
      ctx.moveTo(at - 3.5, tip - 6);
      ctx.lineTo(at + 3.5, tip - 6);
      ctx.lineTo(at, tip);
      ctx.closePath();
      ctx.fill();
      ctx.stroke();
    }
  });
}

/** How long everything waited, and what found the queue full. @param {CanvasRenderingContext2D} ctx @param {Flows} flows @param {Room} where @param {Strip} strip @param {number} top @param {Palette} colours */
function queued(ctx, { waits }, { x }, { y, height }, top, colours) {
  const base = y + height;
  const kept = waits.filter(({ lost }) => !lost);
  ctx.beginPath();
  kept.forEach(({ at, wait }, i) => {
    if (i === 0) ctx.moveTo(x(at), base);
    ctx.lineTo(x(at), base - (height * wait) / top);
    // Without anything new it gets shorter by itself.
    const next = kept[i + 1]?.at ?? at + wait;
    if (next - at >= wait) { ctx.lineTo(x(at + wait), base); ctx.lineTo(x(next), base); }
  });
  ctx.closePath();
  ctx.globalAlpha = 0.45;
  ctx.fillStyle = colours.held;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = colours.held;
  ctx.lineWidth = 1.25;
  ctx.stroke();
  ctx.strokeStyle = colours.lost;
  ctx.lineWidth = 2;
  for (const { at, lost } of waits) if (lost) cross(ctx, x(at), y + 5, 3);
}
