/** What lies behind the pictures: the instants in the gutter, the folds, the present. */
import { clock, fixed, span } from '#lab/format.js';
import { told } from '#lab/session/future.js';
import { t } from '#lab/strings.js';
import { firstFrom } from '#lab/ladder/axis.js';

/** @import { Axis } from './axis.js' */
/** @typedef {{top: number, height: number, axis: Axis, now: number, colours: Record<'line'|'line-strong'|'ink-soft'|'sunken'|'accent'|'surface', string> & {font: string, size: number}}} Look */
/** @typedef {{x: number, width: number}} Lane */

/** Instants in the gutter keep so far apart. */
const APART = 26;

/** A length below a second in milliseconds. @param {number} us */
const length = (us) => (us < 1e6 ? `${Math.round(us / 1000)} ms` : us < 60e6 ? `${fixed(us / 1e6, 1)} s` : span(us));

/** What a fold says. @param {{from: number, to: number}} fold */
export const foldWords = ({ from, to }) => t('axis.folded', { length: length(to - from) });

/** @param {CanvasRenderingContext2D} ctx @param {Look & {width: number, gutter: number, lanes: Lane[], origin: number, logical: boolean}} look */
export function backdrop(ctx, look) {
  const { axis, top, height, width, gutter, colours, lanes } = look;
  const from = axis.to(top);
  ctx.setLineDash([]);
  ctx.lineWidth = 1;
  for (const lane of lanes.slice(1)) {
    ctx.fillStyle = colours.line;
    ctx.fillRect(lane.x, top, 1, height);
  }
  instants(ctx, look, from);
  ctx.font = `550 ${colours.size}px ${colours.font}`;
  for (const fold of axis.folds) {
    if (fold.bottom < top || fold.top > top + height || !told(fold.to, look.now)) continue;
    const middle = (fold.top + fold.bottom) / 2;
    ctx.fillStyle = colours.sunken;
    ctx.fillRect(gutter, fold.top + 4, width, fold.bottom - fold.top - 8);
    ctx.strokeStyle = colours['line-strong'];
    ctx.globalAlpha = 0.5;
    for (const y of [fold.top + 4, fold.bottom - 4]) zigzag(ctx, y, gutter, width);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colours['ink-soft'];
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    for (const lane of lanes) ctx.fillText(foldWords(fold), lane.x + lane.width / 2, middle + 0.5);
  }
  present(ctx, look, gutter);
}

/** @param {CanvasRenderingContext2D} ctx @param {Look & {gutter: number, origin: number, logical: boolean}} look @param {number} from */
function instants(ctx, { axis, top, height, gutter, colours, origin, logical, now }, from) {
  ctx.font = `${colours.size}px ${colours.font}`;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  const here = axis.of(now);
  let last = -Infinity;
  for (let i = Math.max(0, firstFrom(axis.at, from) - 3); i < axis.at.length; i += 1) {
    const y = axis.y[i];
    if (y > top + height + 20 || !told(axis.at[i], now)) break;
    if (y - last < APART) continue;
    last = y;
    ctx.fillStyle = colours.line;
    ctx.fillRect(gutter - 4, y, 4, 1);
    if (Math.abs(y - here) < 18) continue;
    ctx.fillStyle = colours['ink-soft'];
    ctx.fillText(logical ? String(i) : label(axis.at[i] - origin), gutter - 7, y);
  }
}

/** @param {number} us */
const label = (us) => (us < 1e6 ? `${Math.round(us / 1000)} ms` : `${fixed(us / 1e6, 2)} s`);

/** The present: a line across all pictures, and its time. @param {CanvasRenderingContext2D} ctx @param {Look & {width: number, origin: number}} look @param {number} gutter */
function present(ctx, { axis, now, width, colours, origin }, gutter) {
  const y = axis.of(now);
  ctx.fillStyle = colours.accent;
  ctx.fillRect(gutter - 4, y - 0.75, width, 1.5);
  ctx.font = `700 ${colours.size}px ${colours.font}`;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  const words = now - origin < 1e6 ? label(now - origin) : clock(now - origin).replace(/(\.\d\d)\d/, '$1');
  ctx.beginPath();
  ctx.roundRect(1, y - colours.size * 0.85, gutter - 4, colours.size * 1.7, colours.size * 0.85);
  ctx.fill();
  ctx.fillStyle = colours.surface;
  ctx.fillText(words, gutter - 9, y + 0.5, gutter - 16);
}

/** The torn edge of a fold. @param {CanvasRenderingContext2D} ctx @param {number} y @param {number} from @param {number} width */
function zigzag(ctx, y, from, width) {
  ctx.beginPath();
  for (let x = from, i = 0; x <= width + 6; x += 6, i += 1) ctx.lineTo(x, y + (i % 2 ? 2 : -2));
  ctx.stroke();
}
