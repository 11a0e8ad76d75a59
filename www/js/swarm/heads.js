/** What is said of each client beside its cells: how it can be met, its name, its ratio, and what it does. */
import { count } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { brief } from '#lab/swarm/words.js';
import { SOURCE } from '#lab/swarm/grid.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Palette } from './look.js' */
/** @import { Grid } from './grid.js' */
/** @import * as T from './types' */

/** @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours */
export function paintHeads(ctx, grid, run, colours) {
  source(ctx, grid, run, colours);
  ctx.save();
  ctx.beginPath();
  ctx.rect(grid.x, grid.body, grid.side, grid.height - grid.body);
  ctx.clip();
  const [top, bottom] = grid.sight;
  if (grid.worded) {
    ctx.textBaseline = 'middle';
    for (let row = top; row < bottom; row += 1) head(ctx, grid, run.rows[row], row, colours);
  } else strips(ctx, grid, run, colours, top, bottom);
  ctx.restore();
}

/** Filled: can be connected to. A ring: only connects. @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} r @param {boolean} active @param {string} colour */
export function dot(ctx, x, y, r, active, colour) {
  ctx.beginPath();
  ctx.arc(x, y, active ? r : r - 0.9, 0, 2 * Math.PI);
  ctx.fillStyle = ctx.strokeStyle = colour;
  ctx.lineWidth = 1.8;
  if (active) ctx.fill();
  else ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {T.Row} client @param {number} row @param {Palette} colours */
function head(ctx, grid, client, row, colours) {
  const { x, side } = grid;
  const { rem, size, font } = colours;
  const y = grid.yOf(row) + grid.row / 2 + 0.5;
  const wide = side > 11 * rem;
  const roomy = side > 8.5 * rem;
  ctx.globalAlpha = client.up ? 1 : 0.5;
  dot(ctx, x + 0.7 * rem, y, 0.26 * rem, client.active, client.stalled === null ? colours.ink : colours.stalled);
  // No peer gets through to it, and it does not know.
  if (client.firewalled && client.active) ctx.fillRect(x + 1.02 * rem, y - 0.34 * rem, 2, 0.68 * rem);
  ctx.textAlign = 'left';
  ctx.font = `600 ${size}px ${font}`;
  ctx.fillStyle = colours.ink;
  const end = x + side - 0.5 * rem;
  const meter = (wide ? 3 : 2) * rem;
  const from = x + 1.3 * rem;
  const at = roomy ? from + (wide ? 3 : 2.5) * rem : end - 1.5 * rem;
  ctx.fillText(client.role === 'honest' ? client.name : `${client.name} ⚠`, from, y, at - from - 4);
  ratio(ctx, at, y, roomy ? meter : 1.5 * rem, client, colours);
  if (roomy) {
    const words = brief(client, wide);
    ctx.font = `${client.stalled !== null || client.quarantined ? '650' : '400'} ${size - 1}px ${font}`;
    ctx.fillStyle = client.quarantined ? colours['bad-ink'] : client.stalled !== null ? colours.stalled : client.whole ? colours['good-ink'] : colours['ink-soft'];
    ctx.textAlign = 'right';
    ctx.fillText(words, end, y, end - at - meter - 6);
  }
  ctx.globalAlpha = 1;
}

/** How much of what it may download it has downloaded; with a mark where the right ends. @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} wide @param {T.Row} client @param {Palette} colours */
function ratio(ctx, x, y, wide, client, colours) {
  const tall = 6;
  ctx.fillStyle = colours.missing;
  ctx.fillRect(x, y - tall / 2, wide, tall);
  const used = Math.min(1, client.right > 0 ? client.taken / client.right : 1);
  ctx.fillStyle = client.stalled !== null ? colours.stalled : colours['line-strong'];
  ctx.fillRect(x, y - tall / 2, wide * used, tall);
  if (client.stalled !== null) ctx.fillRect(x + wide - 2, y - tall / 2 - 3, 2, tall + 6);
}

/** Rows without room for words: a mark for who is stalled, and for who has all. @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours @param {number} top @param {number} bottom */
function strips(ctx, grid, run, colours, top, bottom) {
  const { x, side } = grid;
  const { rem, size, font } = colours;
  const tall = Math.max(1, grid.row);
  const [left, right] = [x + 3.5 * rem, x + side - 0.5 * rem];
  const every = Math.ceil((2.2 * size) / grid.row / 10) * 10;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  ctx.font = `${size - 1}px ${font}`;
  const share = (right - left) / Math.max(1, run.pieces);
  for (let row = top; row < bottom; row += 1) {
    const client = run.rows[row];
    const y = grid.yOf(row);
    ctx.fillStyle = client.stalled === null ? (client.whole ? colours.seed : colours['line-strong']) : colours.stalled;
    if (!client.up) ctx.fillStyle = colours.missing;
    ctx.fillRect(left, y, Math.max(1, client.have * share), tall);
    if (row % every === 0) {
      ctx.fillStyle = colours['ink-soft'];
      ctx.fillText(client.name, x + 0.4 * rem, y, 3 * rem);
    }
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours */
function source(ctx, grid, run, colours) {
  const { x, side } = grid;
  const { rem, size, font } = colours;
  const y = grid.yOf(SOURCE) + grid.strip / 2 + 0.5;
  ctx.fillStyle = colours.accent;
  const r = 0.28 * rem;
  ctx.fillRect(x + 0.7 * rem - r, y - r, 2 * r, 2 * r);
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  ctx.font = `700 ${size}px ${font}`;
  ctx.fillStyle = colours.ink;
  ctx.fillText(t('swarm.source'), x + 1.25 * rem, y, side - 1.6 * rem);
  if (side > 8.5 * rem && run.copies > 0) {
    ctx.textAlign = 'right';
    ctx.font = `400 ${size - 1}px ${font}`;
    ctx.fillStyle = colours['ink-soft'];
    ctx.fillText(t('swarm.source.copies', { copies: run.copies }), x + side - 0.5 * rem, y, side - 6 * rem);
  }
  // It has everything, always.
  ctx.fillStyle = colours['accent-wash'];
  const [first, last] = grid.columns;
  const left = Math.max(grid.cells, grid.xOf(first));
  ctx.fillRect(left, grid.yOf(SOURCE) + 4, Math.min(grid.cells + grid.wide, grid.xOf(last)) - left, grid.strip - 8);
}

/** Above each column, how many have the piece; the rarest are marked. @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours */
export function paintRarity(ctx, grid, run, colours) {
  const { size, font, rem } = colours;
  const base = grid.head - 3;
  const tall = base - size - 6;
  const [first, last] = grid.columns;
  const rarest = run.rarest;
  const present = Math.max(1, run.rows.length);
  ctx.save();
  ctx.beginPath();
  ctx.rect(grid.cells, 0, grid.wide + 1, grid.head);
  ctx.clip();
  const gap = grid.column >= 6 ? 1 : 0;
  const many = Math.max(1, Math.ceil(1 / grid.column));
  for (let piece = first; piece < last; piece += many) {
    const copies = run.rarity[piece] ?? 0;
    const x = grid.xOf(piece);
    const high = Math.max(copies ? 1 : 0, (tall * copies) / present);
    const rare = copies === rarest && rarest < present;
    ctx.fillStyle = colours.missing;
    ctx.fillRect(x, base - tall, Math.max(1, grid.column - gap), tall - high);
    ctx.fillStyle = copies >= present ? colours.seed : rare ? colours.lost : colours.held;
    ctx.fillRect(x, base - high, Math.max(1, grid.column - gap), high);
    // A dot as well, for eyes that do not tell the colours.
    if (rare && grid.column >= 4) {
      ctx.beginPath();
      ctx.arc(x + (grid.column - gap) / 2, base - Math.max(high, 2) - 4, Math.min(2, grid.column / 3), 0, 2 * Math.PI);
      ctx.fillStyle = colours.lost;
      ctx.fill();
    }
  }
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  ctx.font = `${size - 1}px ${font}`;
  ctx.fillStyle = colours['ink-soft'];
  const step = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 256, 512, 1000, 2000, 5000, 10000].find((n) => n * grid.column >= 2.4 * rem) ?? 20000;
  for (let piece = Math.ceil(first / step) * step; piece < last; piece += step) ctx.fillText(String(piece), grid.xOf(piece) + 1, 4);
  ctx.restore();
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  ctx.font = `${size - 1}px ${font}`;
  ctx.fillStyle = colours['ink-soft'];
  ctx.fillText(grid.side > 11 * rem ? t('swarm.rarity') : t('swarm.rarity.short'), grid.x + 0.5 * rem, base - tall / 2, grid.side - rem);
  const most = Math.max(0, ...run.rarity);
  // Before a piece is there, none is rare.
  if (grid.side > 8.5 * rem && most > 0) {
    ctx.textAlign = 'right';
    ctx.fillText(`${count(rarest)}–${count(most)}`, grid.x + grid.side - 0.5 * rem, base - tall / 2);
  }
}
