/** The network in two: which links lie between the halves. */

/** @import { RoutingRun } from './run.js' */
/** @import { Places } from './stage.js' */

/** How far every node is from one, over whole links. @param {RoutingRun} run @param {number} root */
function steps({ nodes, near, links, up }, root) {
  const far = new Int32Array(nodes.length).fill(-1);
  far[root] = 0;
  const queue = [root];
  for (let k = 0; k < queue.length; k += 1) {
    const at = queue[k];
    for (let i = near.from[at]; i < near.from[at + 1]; i += 1) {
      const to = near.to[i];
      if (!links.up[near.link[i]] || !up[to] || far[to] >= 0) continue;
      far[to] = far[at] + 1;
      queue.push(to);
    }
  }
  return { far, last: queue.at(-1) ?? root };
}

/** Whole links for which something holds. @param {RoutingRun} run @param {(a: number, b: number) => boolean} which */
function whole({ links }, which) {
  const found = [];
  for (let i = 0; i < links.count; i += 1) if (links.up[i] && which(links.a[i], links.b[i])) found.push(i);
  return found;
}

/** The links between those who are nearer to a node and those who are nearer to the one farthest from it. @param {RoutingRun} run @param {number} node @returns {number[]} */
export function halved(run, node) {
  const { far, last } = steps(run, node);
  if (last === node) return [];
  const other = steps(run, last).far;
  const here = (/** @type {number} */ i) => far[i] >= 0 && far[i] <= other[i];
  return whole(run, (a, b) => here(a) !== here(b));
}

/** The links that a line on the picture crosses. @param {RoutingRun} run @param {Places} places @param {{x: number, y: number}} from @param {{x: number, y: number}} to @returns {number[]} */
export function crossed(run, { px, py }, from, to) {
  const side = (/** @type {number} */ x, /** @type {number} */ y) => (to.x - from.x) * (y - from.y) - (to.y - from.y) * (x - from.x);
  return whole(run, (a, b) => {
    const turn = (/** @type {{x: number, y: number}} */ p) => (px[b] - px[a]) * (p.y - py[a]) - (py[b] - py[a]) * (p.x - px[a]);
    return side(px[a], py[a]) * side(px[b], py[b]) < 0 && turn(from) * turn(to) < 0;
  });
}

/** Links that are cut. @param {RoutingRun} run @returns {number[]} */
export const broken = ({ links }) => [...links.up].flatMap((up, i) => (up ? [] : [i]));
