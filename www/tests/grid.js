/**
 * Pictures as coarse grids, and what differs between two of them. A grid has no letters: it
 * says where there is ink, how much and of which colour. Another font or another version of
 * a browser moves that by less than a cell; a panel that is hidden or covers another does not.
 */

/** @import { Picture } from './png.js' */
/** @typedef {{left: number, top: number, right: number, bottom: number, cells: number, most: number}} Region in cells */

/** Each cell is the mean of what it covers. @param {Picture} picture @param {number} columns @returns {Picture} */
export function reduced({ width, height, rgb }, columns) {
  const rows = Math.round((height * columns) / width);
  const out = new Uint8Array(columns * rows * 3);
  const edges = Array.from({ length: columns + 1 }, (_, column) => Math.floor((column * width) / columns));
  for (let row = 0; row < rows; row += 1) {
    const [top, bottom] = [Math.floor((row * height) / rows), Math.floor(((row + 1) * height) / rows)];
    for (let column = 0; column < columns; column += 1) {
      let [r, g, b] = [0, 0, 0];
      for (let y = top; y < bottom; y += 1) {
        const end = (y * width + edges[column + 1]) * 3;
        for (let at = (y * width + edges[column]) * 3; at < end; at += 3) {
          r += rgb[at];
          g += rgb[at + 1];
          b += rgb[at + 2];
        }
      }
      const pixels = (bottom - top) * (edges[column + 1] - edges[column]);
      out.set([r / pixels, g / pixels, b / pixels].map(Math.round), (row * columns + column) * 3);
    }
  }
  return { width: columns, height: rows, rgb: out };
}

/** What is compared: how bright a cell is, and two numbers that say its colour, smoothed over neighbours on its line. @param {Picture} grid */
function planes({ width, height, rgb }) {
  const raw = [0, 1, 2].map(() => new Float32Array(width * height));
  for (let at = 0; at < width * height; at += 1) {
    const [r, g, b] = [rgb[at * 3] / 255, rgb[at * 3 + 1] / 255, rgb[at * 3 + 2] / 255];
    const light = 0.299 * r + 0.587 * g + 0.114 * b;
    [raw[0][at], raw[1][at], raw[2][at]] = [light, b - light, r - light];
  }
  const [light, ...colour] = raw.map((plane) => smoothed(plane, width, height));
  return { light: [light], colour };
}

/** So many cells on each side are smoothed over: words end elsewhere in another font. */
const ALONG = 4;

/** @param {Float32Array} plane @param {number} width @param {number} height */
function smoothed(plane, width, height) {
  const out = new Float32Array(plane.length);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      let [sum, n] = [0, 0];
      for (let u = Math.max(0, x - ALONG); u <= Math.min(width - 1, x + ALONG); u += 1) [sum, n] = [sum + plane[y * width + u], n + 1];
      out[y * width + x] = sum / n;
    }
  }
  return out;
}

/** What is found within so many cells has only moved. */
const MOVED = 1;
/**
 * What is compared of a cell, how much of it is tolerated, and how many neighbours must differ
 * by more: another font changes how bright a line is over some words, and no colour at all.
 */
const LOOKS = /** @type {const} */ ({ light: { most: 0.04, some: 18 }, colour: { most: 0.03, some: 5 } });

/** How far a cell is from the nearest one at its place in the other grid. @param {Float32Array[]} one @param {Float32Array[]} other @param {number} x @param {number} y @param {number} width @param {number} height */
function far(one, other, x, y, width, height) {
  let least = Infinity;
  for (let v = Math.max(0, y - MOVED); v <= Math.min(height - 1, y + MOVED); v += 1) {
    for (let u = Math.max(0, x - MOVED); u <= Math.min(width - 1, x + MOVED); u += 1) {
      least = Math.min(least, Math.max(...one.map((plane, i) => Math.abs(plane[y * width + x] - other[i][v * width + u]))));
    }
  }
  return least;
}

/** How much each cell differs in light or in colour; above 1 it is another one. @param {Picture} before @param {Picture} now @param {'light'|'colour'} look */
export function distances(before, now, look) {
  const { width, height } = before;
  const [one, other] = [planes(before)[look], planes(now)[look]];
  return Float32Array.from({ length: width * height }, (_, at) => {
    const [x, y] = [at % width, Math.floor(at / width)];
    return Math.max(far(one, other, x, y, width, height), far(other, one, x, y, width, height)) / LOOKS[look].most;
  });
}

/** Where they differ, the largest region first. @param {Picture} before @param {Picture} now @returns {Region[]} */
export function differences(before, now) {
  const { width, height } = before;
  if (now.width !== width || now.height !== height) return [{ left: 0, top: 0, right: now.width, bottom: now.height, cells: now.width * now.height, most: Infinity }];
  const looks = /** @type {('light'|'colour')[]} */ (Object.keys(LOOKS));
  return looks.flatMap((look) => regionsOf(distances(before, now, look), width, height).filter(({ cells }) => cells >= LOOKS[look].some)).sort((a, b) => b.cells - a.cells);
}

/** Cells beside each other that differ. @param {Float32Array} apart @param {number} width @param {number} height @returns {Region[]} */
function regionsOf(apart, width, height) {
  const seen = new Uint8Array(apart.length);
  const regions = /** @type {Region[]} */ ([]);
  for (let from = 0; from < apart.length; from += 1) {
    if (seen[from] || apart[from] <= 1) continue;
    const region = { left: width, top: height, right: 0, bottom: 0, cells: 0, most: 0 };
    const open = [from];
    seen[from] = 1;
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [x, y] = [at % width, Math.floor(at / width)];
      Object.assign(region, { left: Math.min(region.left, x), top: Math.min(region.top, y), right: Math.max(region.right, x + 1), bottom: Math.max(region.bottom, y + 1), cells: region.cells + 1, most: Math.max(region.most, apart[at]) });
      for (let v = Math.max(0, y - 1); v <= Math.min(height - 1, y + 1); v += 1) {
        for (let u = Math.max(0, x - 1); u <= Math.min(width - 1, x + 1); u += 1) {
          const next = v * width + u;
          if (!seen[next] && apart[next] > 1) open.push(next);
          seen[next] ||= Number(apart[next] > 1);
        }
      }
    }
    regions.push(region);
  }
  return regions;
}

/** Grids beside each other in one picture, with a line between them. @param {Picture[]} grids @returns {Picture} */
export function sheet(grids) {
  const width = grids.reduce((sum, grid) => sum + grid.width + 1, -1);
  const height = Math.max(...grids.map((grid) => grid.height));
  const rgb = new Uint8Array(width * height * 3).fill(255);
  let left = 0;
  for (const grid of grids) {
    for (let y = 0; y < grid.height; y += 1) rgb.set(grid.rgb.subarray(y * grid.width * 3, (y + 1) * grid.width * 3), (y * width + left) * 3);
    left += grid.width + 1;
  }
  return { width, height, rgb };
}

/** A part of a picture. @param {Picture} picture @param {number} left @param {number} width @param {number} height @returns {Picture} */
export function cut(picture, left, width, height) {
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y += 1) rgb.set(picture.rgb.subarray((y * picture.width + left) * 3, (y * picture.width + left + width) * 3), y * width * 3);
  return { width, height, rgb };
}

/** Each cell as a square that one can see. @param {Picture} grid @param {number} by @returns {Picture} */
export function enlarged({ width, height, rgb }, by) {
  const out = new Uint8Array(width * by * height * by * 3);
  for (let y = 0; y < height * by; y += 1) {
    for (let x = 0; x < width * by; x += 1) {
      const from = (Math.floor(y / by) * width + Math.floor(x / by)) * 3;
      out.set(rgb.subarray(from, from + 3), (y * width * by + x) * 3);
    }
  }
  return { width: width * by, height: height * by, rgb: out };
}

/** A grid of which only what differs from another has its ink, in red. @param {Picture} before @param {Picture} now @returns {Picture} */
export function marked(before, now) {
  const [light, colour] = [distances(before, now, 'light'), distances(before, now, 'colour')];
  const rgb = Uint8Array.from(now.rgb, (byte) => 191 + Math.round(byte / 4));
  light.forEach((far, at) => { if (Math.max(far, colour[at]) > 1) rgb.set([213, 94, 0], at * 3); });
  return { ...now, rgb };
}
