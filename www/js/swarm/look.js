/** Colours and textures of the swarm, taken from the style sheet. */

import { density, inks } from '#lab/theme.js';

const NAMES = /** @type {const} */ (['ink', 'ink-soft', 'line', 'line-strong', 'surface', 'paper', 'sunken', 'accent', 'accent-wash', 'lost', 'lost-wash', 'bad-ink', 'good-ink', 'held', 'flight', 'flight-wash', 'missing', 'seed', 'stalled', 'bound']);

/** @typedef {Record<typeof NAMES[number], string> & {font: string, size: number, rem: number, hatch: CanvasPattern, loss: CanvasPattern}} Palette */

/** Custom properties as colours a canvas understands. @param {Element} host @returns {Palette} */
export function palette(host) {
  const { colours, font, rem } = inks(host, NAMES);
  return { ...colours, font, rem, size: Math.round(rem * 0.75), hatch: stripes(colours.flight, 5, 1.75), loss: stripes(colours.lost, 6, 1) };
}

/** Slanting lines, so that no meaning rests on a colour alone. @param {string} colour @param {number} apart @param {number} width */
function stripes(colour, apart, width) {
  const tile = document.createElement('canvas');
  const scale = density();
  tile.width = tile.height = apart * scale;
  const ctx = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
  ctx.scale(scale, scale);
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  for (const x of [-apart, 0, apart]) {
    ctx.moveTo(x - 1, apart + 1);
    ctx.lineTo(x + apart + 1, -1);
  }
  ctx.stroke();
  const pattern = /** @type {CanvasPattern} */ (ctx.createPattern(tile, 'repeat'));
  pattern.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}

/** Red, green, blue and cover of any colour, for pictures made of pixels. @param {string} colour @returns {[number, number, number]} */
export function channels(colour) {
  const ctx = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d', { willReadFrequently: true }));
  ctx.canvas.width = ctx.canvas.height = 1;
  ctx.fillStyle = colour;
  ctx.fillRect(0, 0, 1, 1);
  const [r, g, b] = ctx.getImageData(0, 0, 1, 1).data;
  return [r, g, b];
}
