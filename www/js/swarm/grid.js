/** Where everything stands: rows are clients, columns pieces, the source above them. */

/** The row of the source. */
export const SOURCE = -1;
/** A column is at most so many rem wide, however few there are. */
const WIDEST = 4;
/** Rows lower than this have no words, and their cells become pixels. */
export const WORDS_PX = 15;
/** Columns narrower than this become pixels. */
export const CELL_PX = 3;

/** What a place of the picture belongs to. @typedef {{row: number|null, piece: number|null}} Place */

export class Grid {
  /**
   * @param {{x: number, width: number, height: number, top: number, left: number, rows: number, pieces: number, row: number, zoom: number, rem: number}} room
   */
  constructor({ x, width, height, top, left, rows, pieces, row, zoom, rem }) {
    Object.assign(this, { x, width, height, top, left, rows, pieces, row });
    this.x = x;
    this.width = width;
    this.height = height;
    this.top = top;
    this.left = left;
    this.rows = rows;
    this.pieces = pieces;
    this.row = row;
    /** What is said of a client takes as much as there is. */
    this.side = Math.round(rem * (width > 560 ? 13 : width > 400 ? 9.5 : 6.5));
    /** Copies of each piece. */
    this.head = Math.round(rem * 2.9);
    /** The source keeps its height, however low the rows are. */
    this.strip = Math.round(rem * 1.5);
    this.body = this.head + this.strip + 4;
    this.cells = x + this.side;
    this.wide = Math.max(20, width - this.side - 10);
    this.column = Math.min(WIDEST * rem, this.wide / Math.max(1, pieces)) * zoom;
  }

  /** How far there is to scroll in either direction. */
  get overflow() { return { across: Math.max(0, this.column * this.pieces - this.wide), down: Math.max(0, this.body + this.rows * this.row + 8 - this.height) }; }

  /** @param {number} piece its left edge */
  xOf(piece) { return this.cells + piece * this.column - Math.min(this.left, this.overflow.across); }
  /** @param {number} row its upper edge */
  yOf(row) { return row === SOURCE ? this.head : this.body + row * this.row - this.top; }
  /** @param {number} row */
  tall(row) { return row === SOURCE ? this.strip : this.row; }
  /** The middle of a cell. @param {number} row @param {number} piece @returns {[number, number]} */
  middle(row, piece) { return [this.xOf(piece) + this.column / 2, this.yOf(row) + this.tall(row) / 2]; }

  /** Columns in sight, the last one not. @returns {[number, number]} */
  get columns() {
    const hidden = Math.min(this.left, this.overflow.across);
    return [Math.max(0, Math.floor(hidden / this.column)), Math.min(this.pieces, Math.ceil((hidden + this.wide) / this.column))];
  }
  /** Rows in sight, the last one not. @returns {[number, number]} */
  get sight() { return [Math.max(0, Math.floor(this.top / this.row)), Math.min(this.rows, Math.ceil((this.top + this.height - this.body) / this.row))]; }

  /** True when there is room for words in the rows. */
  get worded() { return this.row >= WORDS_PX; }
  /** True when cells are too small to be drawn one by one. */
  get tiny() { return this.row < WORDS_PX - 5 || this.column < CELL_PX; }

  /** What lies at a point; nothing outside. @param {number} x @param {number} y @returns {Place|null} */
  at(x, y) {
    if (x < this.x || x >= this.x + this.width) return null;
    const row = y < this.head ? null : y < this.body ? SOURCE : Math.floor((y - this.body + this.top) / this.row);
    if (row !== null && row >= this.rows) return null;
    const piece = x < this.cells ? null : Math.floor((x - this.xOf(0)) / this.column);
    return { row, piece: piece !== null && piece >= 0 && piece < this.pieces ? piece : null };
  }
}
