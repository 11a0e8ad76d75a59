/** How large rows and columns are. */

/** @import { Grid } from './grid.js' */

/** Heights of rows, in rem; none is as low as it takes to show all of them. */
export const ROWS = [0, 0.375, 0.75, 1.25, 1.75, 2.5, 4];
/** A column is at most so many pixels wide. */
const WIDEST = 120;

/** The height to begin with: a crowd is seen as a whole, of a few each can be read. @param {{height: number, rows: number, rem: number}} room */
export const fitting = ({ height, rows, rem }) => {
  const each = (height - 4.75 * rem) / rows / rem;
  return rows > 200 ? 0 : Math.max(3, ROWS.findLastIndex((tall) => tall <= each));
};

/** @param {number} tall which of the heights @param {{height: number, rows: number, rem: number}} room */
export function roomFor(tall, { height, rows, rem }) {
  const wanted = ROWS[tall] * rem;
  if (wanted > 0) return wanted;
  const all = (height - 4.75 * rem) / rows;
  return Math.min(ROWS[3] * rem, Math.max(0.15, all));
}

/** Another width of the columns. @param {number} wide @param {number} by @param {Grid} grid */
export function zoomed(wide, by, { column }) {
  if (by > 0 && column * 2 > WIDEST) return wide;
  return Math.max(1, by > 0 ? wide * 2 : wide / 2);
}
