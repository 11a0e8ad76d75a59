/** The cells: who has which piece, and which one is on its way. */
import { ASKED, BAD, FAILED, FLIGHT, GIVEN, HELD, MISSING } from '#lab/swarm/run.js';
import { channels } from '#lab/swarm/look.js';
import { density } from '#lab/theme.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Palette } from './look.js' */
/** @import { Grid } from './grid.js' */

/** @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours */
export function paintCells(ctx, grid, run, colours) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(grid.cells, grid.body, grid.wide + 1, grid.height - grid.body);
  ctx.clip();
  if (grid.tiny) dots(ctx, grid, run, colours);
  else boxes(ctx, grid, run, colours);
  ctx.restore();
}

/** Every cell a box; what is alike side by side is one where no gap would show. @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours */
function boxes(ctx, grid, run, colours) {
  const [first, last] = grid.columns;
  const [top, bottom] = grid.sight;
  const gap = grid.column >= 6 ? 1 : grid.column >= 4 ? 0.5 : 0;
  const inset = grid.row >= 20 ? 3 : 1.5;
  const tall = grid.row - 2 * inset;
  /** Boxes by how they are filled. @type {Record<string, Path2D>} */
  const paths = { missing: new Path2D(), held: new Path2D(), seed: new Path2D(), flight: new Path2D() };
  /** @type {[number, number, number, number][]} */
  const bad = [];
  /** @type {[number, number, number, number][]} */
  const failed = [];
  for (let row = top; row < bottom; row += 1) {
    const y = grid.yOf(row) + inset;
    const at = row * run.pieces;
    const held = run.rows[row]?.whole ? 'seed' : 'held';
    for (let piece = first; piece < last; piece += 1) {
      const state = run.cells[at + piece];
      let end = piece + 1;
      if (gap === 0) while (end < last && run.cells[at + end] === state) end += 1;
      const x = grid.xOf(piece);
      const wide = (end - piece) * grid.column - gap;
      if (state === BAD) bad.push([x, y, wide, tall]);
      if (state === FAILED) failed.push([x, y, wide, tall]);
      paths[state === HELD || state === GIVEN ? held : state === FLIGHT || state === ASKED ? 'flight' : 'missing'].rect(x, y, wide, tall);
      piece = end - 1;
    }
  }
  ctx.fillStyle = colours.missing;
  ctx.fill(paths.missing);
  ctx.fillStyle = colours.held;
  ctx.fill(paths.held);
  ctx.fillStyle = colours.seed;
  ctx.fill(paths.seed);
  ctx.fillStyle = colours['flight-wash'];
  ctx.fill(paths.flight);
  ctx.fillStyle = colours.hatch;
  ctx.fill(paths.flight);
  flights(ctx, grid, run, colours, inset, gap);
  ctx.lineWidth = 2;
  ctx.strokeStyle = colours.lost;
  crosses(ctx, bad);
  // Tried and failed, but not there: a slash.
  ctx.beginPath();
  for (const [x, y, wide, high] of failed) {
    const r = Math.min(wide, high) / 2 - 1;
    ctx.moveTo(x + wide / 2 - r, y + high / 2 + r);
    ctx.lineTo(x + wide / 2 + r, y + high / 2 - r);
  }
  ctx.stroke();
}

/** How much of each piece on its way is there, from the left. @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours @param {number} inset @param {number} gap */
function flights(ctx, grid, run, colours, inset, gap) {
  const [first, last] = grid.columns;
  const [top, bottom] = grid.sight;
  const tall = grid.row - 2 * inset;
  ctx.fillStyle = colours.flight;
  ctx.strokeStyle = colours.flight;
  ctx.lineWidth = 1;
  for (const { taker, piece, share } of run.transfers) {
    if (taker < top || taker >= bottom || piece < first || piece >= last) continue;
    const [x, y] = [grid.xOf(piece), grid.yOf(taker) + inset];
    const wide = grid.column - gap;
    ctx.fillRect(x, y, wide * share, tall);
    if (wide > 5) ctx.strokeRect(x + 0.5, y + 0.5, wide - 1, tall - 1);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {[number, number, number, number][]} boxes */
function crosses(ctx, boxes) {
  ctx.beginPath();
  for (const [x, y, wide, tall] of boxes) {
    const r = Math.min(wide, tall) / 2 - 1;
    const [cx, cy] = [x + wide / 2, y + tall / 2];
    ctx.moveTo(cx - r, cy - r);
    ctx.lineTo(cx + r, cy + r);
    ctx.moveTo(cx + r, cy - r);
    ctx.lineTo(cx - r, cy + r);
  }
  ctx.stroke();
}

/** A picture of pixels, kept for as long as it is the same. @type {WeakMap<SwarmRun, {key: string, canvas: HTMLCanvasElement}>} */
const pictures = new WeakMap();

/** Cells as pixels; where several fall on one, it has their mixture. @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours */
function dots(ctx, grid, run, colours) {
  const [first, last] = grid.columns;
  const [top, bottom] = grid.sight;
  if (bottom <= top || last <= first) return;
  const scale = density();
  const across = Math.max(1, Math.ceil(1 / (grid.column * scale)));
  const down = Math.max(1, Math.ceil(1 / (grid.row * scale)));
  const wide = Math.ceil((last - first) / across);
  const tall = Math.ceil((bottom - top) / down);
  const key = `${run.stamp}|${first}|${last}|${top}|${bottom}|${across}|${down}|${colours.held}`;
  let picture = pictures.get(run);
  if (picture?.key !== key) {
    const canvas = picture?.canvas ?? document.createElement('canvas');
    if (canvas.width !== wide || canvas.height !== tall) [canvas.width, canvas.height] = [wide, tall];
    picture = { key, canvas };
    pictures.set(run, picture);
    mix(canvas, run, { first, last, top, bottom, across, down }, tints(colours));
  }
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(picture.canvas, grid.xOf(first), grid.yOf(top), wide * across * grid.column, tall * down * grid.row);
}

/** The colour of a client that has all. */
const ALL = 7;
/** @type {{of: string, tints: [number, number, number][]}} */
let tinted = { of: '', tints: [] };
/** Colours by state; the last is that of a client that has all. @param {Palette} colours */
function tints(colours) {
  if (tinted.of !== colours.held + colours.missing) {
    const tints = [];
    tints[MISSING] = channels(colours.missing);
    tints[HELD] = tints[GIVEN] = channels(colours.held);
    tints[ASKED] = tints[FLIGHT] = channels(colours.flight);
    tints[FAILED] = tints[BAD] = channels(colours.lost);
    tints[ALL] = channels(colours.seed);
    tinted = { of: colours.held + colours.missing, tints };
  }
  return tinted.tints;
}

/**
 * @param {HTMLCanvasElement} canvas @param {SwarmRun} run
 * @param {{first: number, last: number, top: number, bottom: number, across: number, down: number}} part
 * @param {[number, number, number][]} tints
 */
function mix(canvas, { cells, rows, pieces }, { first, last, top, bottom, across, down }, tints) {
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const { width } = canvas;
  const image = ctx.createImageData(width, canvas.height);
  const { data } = image;
  for (let y = 0; y < canvas.height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      let [r, g, b, n] = [0, 0, 0, 0];
      const [to, beyond] = [Math.min(last, first + (x + 1) * across), Math.min(bottom, top + (y + 1) * down)];
      for (let row = top + y * down; row < beyond; row += 1) {
        const whole = rows[row]?.whole;
        for (let piece = first + x * across; piece < to; piece += 1) {
          const state = cells[row * pieces + piece];
          const tint = tints[whole && (state === HELD || state === GIVEN) ? ALL : state];
          r += tint[0];
          g += tint[1];
          b += tint[2];
          n += 1;
        }
      }
      const at = (y * width + x) * 4;
      data[at] = r / n;
      data[at + 1] = g / n;
      data[at + 2] = b / n;
      data[at + 3] = 255;
    }
  }
  ctx.putImageData(image, 0, 0);
}
