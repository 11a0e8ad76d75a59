/** One swarm, clients by pieces: its grid, its layers, and what lies under a pointer. */
import { paintCells } from '#lab/swarm/cells.js';
import { paintBands, paintFlows, paintFrame } from '#lab/swarm/flows.js';
import { paintHeads, paintRarity } from '#lab/swarm/heads.js';
import { SOURCE, Grid } from '#lab/swarm/grid.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Palette } from './look.js' */
/** @import { Place } from './grid.js' */

/**
 * What is looked at, and how.
 * @typedef {{colours: Palette, selected: number|null, transfer: number|null, pointed: Place|null, cursor: Place|null, found: import('../session/sought.js').Find|null}} Look
 */

/** How much is not seen of clients that are not searched for. */
const COVER = 0.78;

export class Lane {
  /** @type {Grid} */ grid;

  /** @param {SwarmRun} run */
  constructor(run) {
    this.run = run;
    this.grid = new Grid({ x: 0, width: 100, height: 100, top: 0, left: 0, rows: run.rows.length, pieces: run.pieces, row: 24, zoom: 1, rem: 16 });
  }

  /** @param {Omit<ConstructorParameters<typeof Grid>[0], 'rows'|'pieces'>} room */
  lay(room) { this.grid = new Grid({ ...room, rows: this.run.rows.length, pieces: this.run.pieces }); }

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

  /** True for a client that is not looked for. @param {number} row @param {import('../session/sought.js').Find|null} found */
  pale(row, found) { return found !== null && !found.nodes.has(row) && !found.names.has(this.run.rows[row].name); }

  /** Paper over the rows of clients that are not searched for. @param {CanvasRenderingContext2D} ctx @param {Look} look */
  #veil(ctx, { colours, found }) {
    if (!found) return;
    const { grid } = this;
    const [from, to] = grid.sight;
    ctx.save();
    ctx.beginPath();
    ctx.rect(grid.x, grid.body, grid.width, grid.height - grid.body);
    ctx.clip();
    ctx.globalAlpha = COVER;
    ctx.fillStyle = colours.paper;
    for (let row = from; row < to; row += 1) if (this.pale(row, found)) ctx.fillRect(grid.x, grid.yOf(row), grid.width, grid.row);
    ctx.restore();
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Look} look */
  paint(ctx, look) {
    const { run, grid } = this;
    const { colours, selected, transfer, pointed, cursor } = look;
    ctx.save();
    ctx.beginPath();
    ctx.rect(grid.x, 0, grid.width, grid.height);
    ctx.clip();
    const flow = transfer === null ? undefined : run.transfer(transfer);
    const rows = flow ? [flow.giver, flow.taker] : selected === null ? [] : [selected];
    paintBands(ctx, grid, colours, { rows, piece: flow?.piece ?? null, cursor: pointed ?? cursor });
    paintHeads(ctx, grid, run, colours);
    paintCells(ctx, grid, run, colours);
    paintRarity(ctx, grid, run, colours);
    // Rows pass below the head.
    ctx.fillStyle = colours['line-strong'];
    ctx.globalAlpha = grid.top > 0 ? 0.5 : 0.2;
    ctx.fillRect(grid.x, grid.body - 2, grid.width, 1);
    ctx.globalAlpha = 1;
    paintFlows(ctx, grid, run, colours, this.chosen(look));
    this.#veil(ctx, look);
    if (cursor) paintFrame(ctx, grid, colours, cursor);
    if (flow && flow.taker !== SOURCE) paintFrame(ctx, grid, colours, { row: flow.taker, piece: flow.piece });
    ctx.restore();
  }
}
