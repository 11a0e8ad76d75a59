/** Where the names of nodes stand: where the links leave room, and never on one another. */

/** @import { RoutingRun } from '../run.js' */
/** @import { Places } from '../stage.js' */

/** Where a name may stand: below, above, right, left, or askew. */
const SIDES = /** @type {const} */ ([[0, 1], [0, -1], [1, 0], [-1, 0], [0.7, 0.7], [-0.7, 0.7], [0.7, -0.7], [-0.7, -0.7]]);
/** More are never shown at once. */
const MOST = 400;

/**
 * The place of every name that finds one, those first that matter most.
 * @param {RoutingRun} run @param {Places} places
 * @param {(i: number) => number} wide how wide a name is @param {number} high
 */
export function sides(run, places, wide, high) {
  const { px, py, radius, width, height } = places;
  const { near, nodes, closed } = run;
  const inside = [...px.keys()].filter((i) => px[i] > 0 && py[i] > 0 && px[i] < width && py[i] < height);
  if (inside.length > MOST) return [];
  const matters = (/** @type {number} */ i) => Number(nodes[i].role !== 'plain' || closed[i] === 1);
  inside.sort((a, b) => matters(b) - matters(a));
  /** @type {{i: number, x: number, y: number, w: number}[]} */
  const taken = [];
  for (const i of inside) {
    const w = wide(i) / 2 + 2;
    // A firewall stands around its node.
    const away = radius * (closed[i] ? 2.3 : 1.6) + 4;
    /** @type {{i: number, x: number, y: number, w: number}|null} */
    let best = null;
    let least = 1.2;
    SIDES.forEach(([sx, sy], side) => {
      const x = px[i] + sx * away + Math.sign(sx) * w;
      const y = py[i] + sy * (away + high * 0.5);
      if (x - w < 0 || x + w > width || y - high / 2 < 0 || y + high / 2 > height) return;
      // What is worst counts; below is best when all is equal.
      let bad = -1;
      for (let k = near.from[i]; k < near.from[i + 1]; k += 1) {
        const [dx, dy] = [px[near.to[k]] - px[i], py[near.to[k]] - py[i]];
        bad = Math.max(bad, (dx * sx + dy * sy) / Math.max(1, Math.hypot(dx, dy)) / Math.hypot(sx, sy));
      }
      bad += side * 0.02;
      if (bad >= least) return;
      const hidden = taken.some((t) => Math.abs(t.x - x) < t.w + w && Math.abs(t.y - y) < high + 2)
        || inside.some((j) => j !== i && Math.abs(px[j] - x) < w + radius && Math.abs(py[j] - y) < high / 2 + radius);
      if (!hidden) [best, least] = [{ i, x, y, w }, bad];
    });
    if (best) taken.push(best);
  }
  return taken;
}
