/** Who sends to whom: from the row of the giver to the row of the taker, in the column of the piece. */
import { SOURCE } from '#lab/matrix/sheet.js';

/** @import { MatrixRun } from './run.js' */
/** @import { Palette } from './look.js' */
/** @import { Sheet, Place } from './sheet.js' */
/** @import * as T from './types' */

/** More arcs than this would say nothing. */
const MOST = 96;

/**
 * @param {CanvasRenderingContext2D} ctx @param {Sheet} sheet @param {MatrixRun} run @param {Palette} colours
 * @param {(number|null)[]} chosen transfers that stand out
 */
export function paintFlows(ctx, sheet, run, colours, chosen) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(sheet.cells, sheet.head, sheet.wide + 8, sheet.height - sheet.head);
  ctx.clip();
  const [first, last] = sheet.columns;
  const [top, bottom] = sheet.sight;
  const seen = (/** @type {number} */ row) => row === SOURCE || (row >= top && row < bottom);
  const arcs = run.transfers.filter(({ giver, taker, piece }) => piece >= first && piece < last && seen(taker) && seen(giver));
  ctx.lineCap = 'round';
  // A few at a time can be followed; of a crowd only what was chosen.
  if (arcs.length <= MOST) {
    ctx.globalAlpha = arcs.length > 40 ? 0.3 : arcs.length > 16 ? 0.45 : 0.65;
    ctx.strokeStyle = ctx.fillStyle = colours['ink-soft'];
    ctx.lineWidth = 1.25;
    for (const flow of arcs) if (!chosen.includes(flow.id)) arc(ctx, sheet, flow, false);
    ctx.globalAlpha = 1;
  }
  for (const flow of run.transfers) {
    if (!chosen.includes(flow.id)) continue;
    ctx.strokeStyle = ctx.fillStyle = colours.accent;
    ctx.lineWidth = 2.5;
    arc(ctx, sheet, flow, true);
  }
  ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {Sheet} sheet @param {T.Transfer} flow @param {boolean} bold */
function arc(ctx, sheet, { giver, taker, piece }, bold) {
  const [x, y0] = sheet.middle(giver, piece);
  const [, y1] = sheet.middle(taker, piece);
  const down = y1 > y0 ? 1 : -1;
  // What lies beyond the edge is pointed at.
  const from = Math.max(sheet.head + 4, Math.min(sheet.height + 40, y0));
  const edge = sheet.tall(taker) / 2 - 2;
  const to = Math.max(sheet.head - 40, Math.min(sheet.height + 40, y1)) - down * Math.min(edge, 7);
  const bulge = Math.min(sheet.column * 1.4 + 8, 10 + Math.abs(to - from) * 0.18);
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

/** Rows and columns that stand out: those of what was chosen, and of where the pointer is. @param {CanvasRenderingContext2D} ctx @param {Sheet} sheet @param {Palette} colours @param {{rows: number[], piece: number|null, cursor: Place|null}} what */
export function paintBands(ctx, sheet, colours, { rows, piece, cursor }) {
  ctx.save();
  ctx.fillStyle = colours['accent-wash'];
  for (const row of rows) {
    const y = Math.max(row === SOURCE ? sheet.head : sheet.body, sheet.yOf(row));
    const end = sheet.yOf(row) + sheet.tall(row);
    if (end > y) ctx.fillRect(sheet.x, y, sheet.width, end - y);
  }
  const column = piece ?? cursor?.piece ?? null;
  if (column !== null) ctx.fillRect(Math.max(sheet.cells, sheet.xOf(column) - 1), 0, sheet.column + 1, sheet.height);
  if (cursor && cursor.row !== null && !rows.includes(cursor.row)) {
    ctx.globalAlpha = 0.6;
    const y = Math.max(cursor.row === SOURCE ? sheet.head : sheet.body, sheet.yOf(cursor.row));
    ctx.fillRect(sheet.x, y, sheet.width, Math.max(1, sheet.yOf(cursor.row) + sheet.tall(cursor.row) - y));
  }
  ctx.restore();
}

/** The cell of the keyboard, framed. @param {CanvasRenderingContext2D} ctx @param {Sheet} sheet @param {Palette} colours @param {Place} place */
export function paintFrame(ctx, sheet, colours, { row, piece }) {
  if (row === null) return;
  ctx.save();
  ctx.strokeStyle = colours.ink;
  ctx.lineWidth = 2;
  const y = sheet.yOf(row);
  if (y + sheet.tall(row) > (row === SOURCE ? 0 : sheet.body)) {
    if (piece === null) ctx.strokeRect(sheet.x + 2, y + 1, sheet.side - 4, Math.max(4, sheet.tall(row) - 2));
    else ctx.strokeRect(sheet.xOf(piece) - 1, y + 1, Math.max(5, sheet.column + 1), Math.max(5, sheet.tall(row) - 2));
  }
  ctx.restore();
}
