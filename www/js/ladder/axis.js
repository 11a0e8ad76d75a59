/**
 * Where an instant lies on the picture. Time runs down; between two instants
 * at which something happens it runs evenly. A long silence is folded to a
 * fixed height, and by logical time every instant is one row.
 */

/** @typedef {{from: number, to: number, top: number, bottom: number}} Fold */
/** @typedef {'real'|'logical'} Kind */

/** Pixels of the usual flight, of a fold, of a row. */
const FLIGHT_PX = 64;
const FOLD_PX = 40;
const ROW_PX = 18;
/** Room above the first instant and below the last. */
const PAD_PX = 28;
/** A silence is folded when it would take so many times the height of a fold. */
const WORTH = 2.5;

export class Axis {
  /** @type {Fold[]} */ folds = [];
  /** Instants, ascending, and where they lie. @type {number[]} */ at = [];
  /** @type {number[]} */ y = [];

  /**
   * @param {number[]} instants at which something happens, ascending, each once
   * @param {{kind: Kind, fold: boolean, zoom: number, flight: number}} how `flight` is how long one usually takes
   */
  constructor(instants, { kind, fold, zoom, flight }) {
    this.scale = (FLIGHT_PX * zoom) / Math.max(1, flight);
    let y = PAD_PX;
    instants.forEach((at, i) => {
      if (i > 0) {
        const gap = at - instants[i - 1];
        const px = gap * this.scale;
        if (kind === 'logical') y += ROW_PX * zoom;
        else if (fold && px > FOLD_PX * WORTH && gap > 2 * flight) {
          this.folds.push({ from: instants[i - 1], to: at, top: y, bottom: y + FOLD_PX });
          y += FOLD_PX;
        } else y += px;
      }
      this.at.push(at);
      this.y.push(y);
    });
    this.height = y + PAD_PX;
  }

  /** @param {number} at */
  of(at) { return along(this.at, this.y, at, this.scale); }
  /** @param {number} y */
  to(y) { return Math.max(0, along(this.y, this.at, y, 1 / this.scale)); }
}

/** The first of an ascending list that is not below `x`. @param {number[]} list @param {number} x */
export function firstFrom(list, x) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const mid = (low + high) >> 1;
    if (list[mid] < x) low = mid + 1;
    else high = mid;
  }
  return low;
}

/**
 * The value at `x` of the line through all points, which goes on at both ends.
 * @param {number[]} xs @param {number[]} ys @param {number} x @param {number} slope beyond the ends
 */
function along(xs, ys, x, slope) {
  const n = xs.length;
  if (n === 0) return x * slope;
  if (x <= xs[0]) return ys[0] - (xs[0] - x) * slope;
  if (x >= xs[n - 1]) return ys[n - 1] + (x - xs[n - 1]) * slope;
  const i = firstFrom(xs, x);
  const width = xs[i] - xs[i - 1];
  return width === 0 ? ys[i] : ys[i - 1] + ((x - xs[i - 1]) / width) * (ys[i] - ys[i - 1]);
}
