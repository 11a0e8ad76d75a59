/** Strokes that pictures of arrows share: heads, crosses, words that find room. */
import { isHidden } from '#lab/session/future.js';

/** @import { Axis } from './axis.js' */

/** @typedef {'full'|'double'|'open'|'diamond'|'square'|'none'} HeadShape */
/** @typedef {{x0: number, y0: number, x1: number, y1: number}} Line */

/** How near the pointer must come to an arrow, in pixels. */
const NEAR_PX = 9;
/** How far words keep apart. */
const APART = 1.25;

/**
 * The head of an arrow with its tip at a point.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x @param {number} y @param {number} angle
 * @param {HeadShape} shape
 */
export function head(ctx, x, y, angle, shape) {
  if (shape === 'none') return;
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(angle);
  ctx.setLineDash([]);
  ctx.beginPath();
  if (shape === 'open') {
    ctx.moveTo(-8, -4);
    ctx.lineTo(0, 0);
    ctx.lineTo(-8, 4);
    ctx.stroke();
  } else {
    if (shape === 'diamond') for (const [px, py] of [[-10, 0], [-5, -4.5], [0, 0], [-5, 4.5]]) ctx.lineTo(px, py);
    else if (shape === 'square') ctx.rect(-8, -4, 8, 8);
    else {
      for (const [px, py] of [[-9, -4.5], [0, 0], [-9, 4.5]]) ctx.lineTo(px, py);
      if (shape === 'double') {
        ctx.closePath();
        for (const [px, py] of [[-17, -4.5], [-8, 0], [-17, 4.5]]) px === -17 && py < 0 ? ctx.moveTo(px, py) : ctx.lineTo(px, py);
      }
    }
    ctx.closePath();
    ctx.fill();
  }
  ctx.restore();
}

/** The sign of a loss. @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} r */
export function cross(ctx, x, y, r) {
  ctx.beginPath();
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x + r, y - r);
  ctx.lineTo(x - r, y + r);
  ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx @param {[number, number]} from @param {[number, number]} to */
export function stretch(ctx, from, to) {
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
}

/** Round a word. @param {CanvasRenderingContext2D} ctx @param {number} x its middle @param {number} y @param {number} half of its width @param {number} size */
export function pill(ctx, x, y, half, size) {
  ctx.beginPath();
  ctx.roundRect(x - half, y - size * 0.7, half * 2, size * 1.4, size * 0.7);
  ctx.fill();
}

/** Around the arrow that is selected or pointed at. @param {CanvasRenderingContext2D} ctx @param {string} colour @param {boolean} selected @param {[number, number]} from @param {[number, number]} to */
export function glow(ctx, colour, selected, from, to) {
  ctx.globalAlpha = selected ? 0.35 : 0.18;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 11;
  ctx.lineCap = 'round';
  stretch(ctx, from, to);
  ctx.lineCap = 'butt';
}

/** The head of what is under way. @param {CanvasRenderingContext2D} ctx @param {[number, number]} at */
export function dot(ctx, at) {
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.arc(...at, 4, 0, 7);
  ctx.fill();
}

/** Where the future is hidden, nothing below the present: what flies is drawn as far as it has come. @param {CanvasRenderingContext2D} ctx @param {{axis: Axis, top: number, now: number}} look @param {{x: number, width: number}} lane */
export function clipFuture(ctx, { axis, top, now }, { x, width }) {
  if (!isHidden()) return;
  ctx.beginPath();
  ctx.rect(x, top - 20, width, Math.max(0, axis.of(now) - top + 20));
  ctx.clip();
}

/** How far an arrow has come by now, from 0 to 1. @param {{sent: number}} arrow @param {Line} line @param {{axis: Axis, now: number}} look */
export function progress({ sent }, { y0, y1 }, { axis, now }) {
  return sent > now ? 0 : y1 <= y0 ? 1 : Math.min(1, (axis.of(now) - y0) / (y1 - y0));
}

/** The arrow nearest to a point, if one is near. @template A @param {Iterable<A>} arrows @param {(arrow: A) => Line} line @param {number} x @param {number} y @returns {A|null} */
export function nearest(arrows, line, x, y) {
  /** @type {A|null} */
  let best = null;
  let least = NEAR_PX;
  for (const arrow of arrows) {
    const { x0, y0, x1, y1 } = line(arrow);
    const part = Math.min(1, Math.max(0, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / Math.max(1, (x1 - x0) ** 2 + (y1 - y0) ** 2)));
    const away = Math.hypot(x - x0 - part * (x1 - x0), y - y0 - part * (y1 - y0));
    if (away < least) [best, least] = [arrow, away];
  }
  return best;
}

/** Where no arrow has its words: below the present nothing is painted when the future is hidden, and half a word is none. @param {{axis: Axis, now: number}} look */
export const bottomOf = ({ axis, now }) => (isHidden() ? axis.of(now) : Infinity);

/** Words on arrows, as many as find room beside each other and beside what has its place already. */
export class ArrowWords {
  /** @type {[number, number, number][]} */ #taken = [];
  #words = 0;

  /** @param {{stands: number[], most: number, size: number, left: number, right: number, bottom: number}} how where on an arrow a word may stand, how many words there may be, how large they are, and between what they stand */
  constructor(how) { this.how = how; }

  /** More words at once would be a grey wall. */
  get full() { return this.#words >= this.how.most; }

  /** Whether nothing has that place. @param {number} x its middle @param {number} y @param {number} half of its width */
  free(x, y, half) {
    const { size, left, right } = this.how;
    return x - half > left && x + half < right && this.#taken.every(([tx, ty, tw]) => Math.abs(tx - x) > tw + half || Math.abs(ty - y) > size * APART);
  }

  /** What stands there whatever it lies over: words keep away from it. @param {number} x its middle @param {number} y @param {number} half of its width */
  reserve(x, y, half) { this.#taken.push([x, y, half]); }

  /** Where a word of that width has room on an arrow; the room is taken then. @param {Line} line @param {number} half of its width @returns {[number, number]|null} */
  take({ x0, y0, x1, y1 }, half) {
    const { stands, size, bottom } = this.how;
    const spots = stands.map((part) => /** @type {[number, number]} */ ([x0 + (x1 - x0) * part, y0 + (y1 - y0) * part]));
    const spot = spots.find(([x, y]) => y + size * 0.7 <= bottom && this.free(x, y, half));
    if (!spot) return null;
    this.reserve(...spot, half);
    this.#words += 1;
    return spot;
  }
}
