/** How far the swarm is, against what no swarm can beat: two curves, and between them what was lost. */

import { isHidden } from '#lab/session/future.js';
import { t } from '#lab/strings.js';
import { density } from '#lab/theme.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Palette } from './look.js' */

/** What each chart shows: as long as it is the same, nothing is drawn. @type {WeakMap<HTMLCanvasElement, unknown[]>} */
const drawn = new WeakMap();

/**
 * @param {HTMLCanvasElement} canvas
 * @param {SwarmRun} run
 * @param {Palette} colours
 * @param {{now: number, end: number}} clock the same for every chart
 */
export function paintChart(canvas, run, colours, { now, end }) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const scale = density();
  if (!width || !height) return;
  const shape = [isHidden(), run.progress, colours, width, height, scale, end, Math.round(((now - run.origin) / Math.max(1, end - run.origin)) * width * scale)];
  const before = drawn.get(canvas);
  if (before && shape.every((part, i) => part === before[i])) return;
  drawn.set(canvas, shape);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  const [top, base, left, right] = [6, height - 3, 2, width - 6];
  const span = Math.max(1, end - run.origin);
  const x = (/** @type {number} */ at) => left + ((at - run.origin) / span) * (right - left);
  const y = (/** @type {number} */ share) => base - share * (base - top);
  ctx.fillStyle = colours.line;
  ctx.fillRect(left, base, right - left, 1);
  ctx.fillRect(left, top, right - left, 1);
  const { at, done, ideal } = run.progress;
  if (done.length < 2) return;
  const curve = (/** @type {number[]} */ of, /** @type {number} */ many, back = false) => {
    for (let i = 0; i < many; i += 1) ctx.lineTo(x(at[back ? many - 1 - i : i]), y(of[back ? many - 1 - i : i]));
  };
  // What lies between is what was lost.
  ctx.save();
  if (isHidden()) {
    ctx.beginPath();
    ctx.rect(0, 0, x(now), height);
    ctx.clip();
  }
  ctx.beginPath();
  if (ideal.length) curve(ideal, done.length);
  else for (const i of [0, done.length - 1]) ctx.lineTo(x(at[i]), base);
  curve(done, done.length, true);
  ctx.closePath();
  if (!ideal.length) ctx.globalAlpha = 0.12;
  for (const colour of ideal.length ? [colours['lost-wash'], colours.loss] : [colours.held]) {
    ctx.fillStyle = colour;
    ctx.fill();
  }
  ctx.restore();
  // What is still to come is paler.
  for (const [from, to, alpha] of isHidden() ? [[0, x(now), 1]] : [[0, x(now), 1], [x(now), width, 0.35]]) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, 0, to - from, height);
    ctx.clip();
    ctx.globalAlpha = alpha;
    ctx.lineJoin = 'round';
    ctx.beginPath();
    curve(done, done.length);
    ctx.lineWidth = 2.25;
    ctx.strokeStyle = colours.held;
    ctx.stroke();
    ctx.restore();
  }
  ctx.beginPath();
  curve(ideal, ideal.length);
  ctx.setLineDash([5, 3]);
  ctx.lineWidth = 1.5;
  ctx.strokeStyle = colours.bound;
  ctx.stroke();
  ctx.setLineDash([]);
  // What the curves are, where there is room below them.
  const words = ideal.length ? [['bound', 'chart.bound'], ['held', 'chart.held'], ['lost', 'chart.lost']] : [['held', 'chart.held']];
  ctx.font = `${colours.size - 1}px ${colours.font}`;
  ctx.textBaseline = 'alphabetic';
  ctx.textAlign = 'right';
  let edge = right - 2;
  if (height > 50 && width > 380) for (const [colour, key] of words) {
    ctx.fillStyle = colours['ink-soft'];
    ctx.fillText(t(key), edge, base - 7);
    edge -= ctx.measureText(t(key)).width + 5;
    ctx.fillStyle = colour === 'lost' ? colours.loss : colours[/** @type {'bound'|'held'} */ (colour)];
    if (colour === 'bound') for (const dx of [14, 6]) ctx.fillRect(edge - dx, base - 11, 5, 1.5);
    else ctx.fillRect(edge - 14, base - (colour === 'lost' ? 14 : 11.5), 13, colour === 'lost' ? 7 : 2.25);
    edge -= 26;
  }
  ctx.fillStyle = colours.accent;
  ctx.fillRect(x(now) - 0.75, 0, 1.5, height);
}
