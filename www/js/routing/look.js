/** Colours and shapes of what travels, taken from the style sheet. */

import { inks } from '#lab/theme.js';

/** Kinds of messages, by their number. */
export const KINDS = /** @type {const} */ (['ping', 'pong', 'query', 'hit', 'push', 'bye', 'other']);
/** @typedef {typeof KINDS[number]|'lost'|'twice'} Sign */

const NAMES = /** @type {const} */ (['ink', 'ink-soft', 'line', 'line-strong', 'surface', 'paper', 'sunken', 'accent', 'accent-wash', 'ping', 'pong', 'query', 'hit', 'push', 'bye', 'other', 'lost', 'twice', 'wire', 'node', 'lit', 'reached']);

/** @typedef {Record<typeof NAMES[number], string> & {font: string, size: number}} Palette */

/** Custom properties as colours a canvas understands. @param {Element} host @returns {Palette} */
export function palette(host) {
  const { colours, font, rem } = inks(host, NAMES);
  return { ...colours, font, size: Math.round(rem * 0.75) };
}

/**
 * Adds a sign to the path: query ▶, hit ◆, push ■, ping ●, pong ○, lost ✕.
 * @param {CanvasRenderingContext2D|Path2D} ctx @param {Sign} sign
 * @param {number} x @param {number} y @param {number} r @param {number} cos @param {number} sin of where it goes
 */
export function shape(ctx, sign, x, y, r, cos, sin) {
  const corner = (/** @type {number} */ a, /** @type {number} */ b, first = false) => {
    const [px, py] = [x + r * (a * cos - b * sin), y + r * (a * sin + b * cos)];
    if (first) ctx.moveTo(px, py);
    else ctx.lineTo(px, py);
  };
  if (sign === 'query') {
    corner(1.35, 0, true);
    corner(-0.9, 1.05);
    corner(-0.45, 0);
    corner(-0.9, -1.05);
  } else if (sign === 'hit') {
    corner(1.4, 0, true);
    corner(0, 1);
    corner(-1.4, 0);
    corner(0, -1);
  } else if (sign === 'push') {
    corner(0.95, 0.95, true);
    corner(-0.95, 0.95);
    corner(-0.95, -0.95);
    corner(0.95, -0.95);
  } else if (sign === 'lost' || sign === 'twice') {
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x + r, y - r);
    ctx.lineTo(x - r, y + r);
    return;
  } else {
    ctx.moveTo(x + r, y);
    ctx.arc(x, y, r, 0, 2 * Math.PI);
    if (sign === 'pong') {
      ctx.moveTo(x + r * 0.45, y);
      ctx.arc(x, y, r * 0.45, 0, 2 * Math.PI, true);
    }
  }
  ctx.closePath();
}
