/** Who sends pieces, and who takes them: from the row of the giver to the row of the taker, in the column of the piece. */
import { SOURCE } from '#lab/swarm/grid.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Palette } from './look.js' */
/** @import { Grid, Place } from './grid.js' */
/** @import * as T from './types' */

/** More arcs than this would say nothing. */
const MOST = 96;

/**
 * @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {SwarmRun} run @param {Palette} colours
 * @param {(number|null)[]} chosen transfers that stand out
 */
export function paintFlows(ctx, grid, run, colours, chosen) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(grid.cells, grid.head, grid.wide + 8, grid.height - grid.head);
  ctx.clip();
  const [first, last] = grid.columns;
  const [top, bottom] = grid.sight;
  const seen = (/** @type {number} */ row) => row === SOURCE || (row >= top && row < bottom);
  const arcs = run.transfers.filter(({ giver, taker, piece }) => piece >= first && piece < last && seen(taker) && seen(giver));
  ctx.lineCap = 'round';
  // A few at a time can be followed; of a crowd only what was chosen.
  if (arcs.length <= MOST) {
    ctx.globalAlpha = arcs.length > 40 ? 0.3 : arcs.length > 16 ? 0.45 : 0.65;
    ctx.strokeStyle = ctx.fillStyle = colours['ink-soft'];
    ctx.lineWidth = 1.25;
    for (const flow of arcs) if (!chosen.includes(flow.id)) arc(ctx, grid, flow, false);
    ctx.globalAlpha = 1;
  }
  for (const flow of run.transfers) {
    if (!chosen.includes(flow.id)) continue;
    ctx.strokeStyle = ctx.fillStyle = colours.accent;
    ctx.lineWidth = 2.5;
    arc(ctx, grid, flow, true);
  }
  ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {T.Transfer} flow @param {boolean} bold */
function arc(ctx, grid, { giver, taker, piece }, bold) {
  const [x, y0] = grid.middle(giver, piece);
  const [, y1] = grid.middle(taker, piece);
  const down = y1 > y0 ? 1 : -1;
  // What lies beyond the edge is pointed at.
  const from = Math.max(grid.head + 4, Math.min(grid.height + 40, y0));
  const edge = grid.tall(taker) / 2 - 2;
  const to = Math.max(grid.head - 40, Math.min(grid.height + 40, y1)) - down * Math.min(edge, 7);
  const bulge = Math.min(grid.column * 1.4 + 8, 10 + Math.abs(to - from) * 0.18);
  const size = bold ? 7 : 4.5;
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.quadraticCurveTo(x + bulge, (from + to) / 2, x + 1, to - down * size);
  ctx.stroke();
  const angle = Math.atan2(to - (from + to) / 2, x - (x + bulge));
  ctx.save();
  ctx.translate(x, to);
  ctx.rotate(angle);
  ctx.beginPath();
  ctx.moveTo(0, 0);
  ctx.lineTo(-size - 2, -size * 0.6);
  ctx.lineTo(-size - 2, size * 0.6);
  ctx.closePath();
  ctx.fill();
  ctx.restore();
  ctx.beginPath();
  ctx.arc(x, from, bold ? 3.5 : 2, 0, 2 * Math.PI);
  ctx.fill();
}

/** Rows and columns that stand out: those of what was chosen, and of where the pointer is. @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {Palette} colours @param {{rows: number[], piece: number|null, cursor: Place|null}} what */
export function paintBands(ctx, grid, colours, { rows, piece, cursor }) {
  ctx.save();
  ctx.fillStyle = colours['accent-wash'];
  for (const row of rows) {
    const y = Math.max(row === SOURCE ? grid.head : grid.body, grid.yOf(row));
    const end = grid.yOf(row) + grid.tall(row);
    if (end > y) ctx.fillRect(grid.x, y, grid.width, end - y);
  }
  const column = piece ?? cursor?.piece ?? null;
  if (column !== null) ctx.fillRect(Math.max(grid.cells, grid.xOf(column) - 1), 0, grid.column + 1, grid.height);
  if (cursor && cursor.row !== null && !rows.includes(cursor.row)) {
    ctx.globalAlpha = 0.6;
    const y = Math.max(cursor.row === SOURCE ? grid.head : grid.body, grid.yOf(cursor.row));
    ctx.fillRect(grid.x, y, grid.width, Math.max(1, grid.yOf(cursor.row) + grid.tall(cursor.row) - y));
  }
  ctx.restore();
}

/** The cell of the keyboard, framed. @param {CanvasRenderingContext2D} ctx @param {Grid} grid @param {Palette} colours @param {Place} place */
export function paintFrame(ctx, grid, colours, { row, piece }) {
  if (row === null) return;
  ctx.save();
  ctx.strokeStyle = colours.ink;
  ctx.lineWidth = 2;
  const y = grid.yOf(row);
  if (y + grid.tall(row) > (row === SOURCE ? 0 : grid.body)) {
    if (piece === null) ctx.strokeRect(grid.x + 2, y + 1, grid.side - 4, Math.max(4, grid.tall(row) - 2));
    else ctx.strokeRect(grid.xOf(piece) - 1, y + 1, Math.max(5, grid.column + 1), Math.max(5, grid.tall(row) - 2));
  }
  ctx.restore();
}
