/** One swarm as a matrix: its sheet, its layers, and what lies under a pointer. */
import { paintCells } from '#lab/matrix/cells.js';
import { paintBands, paintFlows, paintFrame } from '#lab/matrix/flows.js';
import { paintHeads, paintRarity } from '#lab/matrix/heads.js';
import { SOURCE, Sheet } from '#lab/matrix/sheet.js';

/** @import { MatrixRun } from './run.js' */
/** @import { Palette } from './look.js' */
/** @import { Place } from './sheet.js' */

/**
 * What is looked at, and how.
 * @typedef {{colours: Palette, selected: number|null, transfer: number|null, pointed: Place|null, cursor: Place|null}} Look
 */

export class Lane {
  /** @type {Sheet} */ sheet;

  /** @param {MatrixRun} run */
  constructor(run) {
    this.run = run;
    this.sheet = new Sheet({ x: 0, width: 100, height: 100, top: 0, left: 0, rows: run.rows.length, pieces: run.pieces, row: 24, zoom: 1, rem: 16 });
  }

  /** @param {Omit<ConstructorParameters<typeof Sheet>[0], 'rows'|'pieces'>} room */
  lay(room) { this.sheet = new Sheet({ ...room, rows: this.run.rows.length, pieces: this.run.pieces }); }

  /** The transfers that stand out: the selected one, and those at the pointer. @param {Look} look */
  chosen({ transfer, pointed, cursor, selected }) {
    const at = pointed ?? cursor;
    const flows = this.run.transfers;
    const ids = transfer === null ? [] : [transfer];
    if (at?.row !== null && at?.row !== undefined) {
      if (at.piece !== null) ids.push(...flows.filter((f) => f.piece === at.piece && (f.taker === at.row || f.giver === at.row)).map((f) => f.id));
      else ids.push(...flows.filter((f) => f.taker === at.row || f.giver === at.row).map((f) => f.id));
    }
    if (transfer === null && selected !== null) ids.push(...flows.filter((f) => f.taker === selected || f.giver === selected).map((f) => f.id));
    return ids;
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Look} look */
  paint(ctx, look) {
    const { run, sheet } = this;
    const { colours, selected, transfer, pointed, cursor } = look;
    ctx.save();
    ctx.beginPath();
    ctx.rect(sheet.x, 0, sheet.width, sheet.height);
    ctx.clip();
    const flow = transfer === null ? undefined : run.transfer(transfer);
    const rows = flow ? [flow.giver, flow.taker] : selected === null ? [] : [selected];
    paintBands(ctx, sheet, colours, { rows, piece: flow?.piece ?? null, cursor: pointed ?? cursor });
    paintHeads(ctx, sheet, run, colours);
    paintCells(ctx, sheet, run, colours);
    paintRarity(ctx, sheet, run, colours);
    // Rows pass below the head.
    ctx.fillStyle = colours['line-strong'];
    ctx.globalAlpha = sheet.top > 0 ? 0.5 : 0.2;
    ctx.fillRect(sheet.x, sheet.body - 2, sheet.width, 1);
    ctx.globalAlpha = 1;
    paintFlows(ctx, sheet, run, colours, this.chosen(look));
    if (cursor) paintFrame(ctx, sheet, colours, cursor);
    if (flow && flow.taker !== SOURCE) paintFrame(ctx, sheet, colours, { row: flow.taker, piece: flow.piece });
    ctx.restore();
  }
}
