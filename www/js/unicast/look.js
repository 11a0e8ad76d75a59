/** Colours, strokes and heads of the unicast, taken from the style sheet. */

import { inks } from '#lab/theme.js';

/** @import { Kind } from './words.js' */

const NAMES = /** @type {const} */ (['ink', 'ink-soft', 'line', 'line-strong', 'surface', 'paper', 'sunken', 'accent', 'accent-wash', 'data', 'again', 'ack', 'want', 'close', 'lost', 'held', 'held-wash', 'taken']);

/** @typedef {Record<typeof NAMES[number], string> & {font: string, size: number, gutter: number}} Palette */

/** Custom properties as colours a canvas understands. @param {Element} host @returns {Palette} */
export function palette(host) {
  const { colours, font, rem } = inks(host, NAMES);
  return { ...colours, font, size: Math.round(rem * 0.72), gutter: 4 * rem };
}

/**
 * How each kind is drawn: never by colour alone.
 * @type {Record<Kind, {width: number, dash: number[], head: 'full'|'double'|'open'|'diamond'|'square'|'none'}>}
 */
export const STROKES = {
  data: { width: 1.75, dash: [], head: 'full' },
  again: { width: 2.25, dash: [9, 3], head: 'double' },
  ack: { width: 1.25, dash: [], head: 'open' },
  want: { width: 1.75, dash: [2, 3], head: 'diamond' },
  close: { width: 1.75, dash: [12, 3, 2, 3], head: 'square' },
  probe: { width: 1.25, dash: [1, 4], head: 'open' },
};

/** @param {Palette} colours @param {Kind} kind */
export const colourOf = (colours, kind) => (kind === 'probe' ? colours['ink-soft'] : colours[kind]);

/**
 * The head of an arrow with its tip at a point.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x @param {number} y @param {number} angle
 * @param {'full'|'double'|'open'|'diamond'|'square'|'none'} shape
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
