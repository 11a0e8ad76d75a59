/** Where the nodes stand: by the shape of the overlay, the same every time. */

/** @typedef {{a: ArrayLike<number>, b: ArrayLike<number>, count: number}} Edges */
/** @typedef {{x: Float32Array, y: Float32Array, wide: number}} Places in −1…1, and how much wider than high the picture wants to be */

/** More nodes on a circle would stand on one another. */
const CIRCLE = 160;
/** More would take too long to settle. */
const SETTLED = 260;
const ROUNDS = 140;
/** The golden ratio: what follows it never piles up. */
const GOLDEN = 0.6180339887498949;

/**
 * @param {string} shape
 * @param {number} n nodes
 * @param {Edges} edges
 * @param {number} root who is in the middle where something is
 * @returns {Places}
 */
export function layout(shape, n, edges, root) {
  const near = neighbours(n, edges);
  if (shape === 'ring') return circle(n);
  if (shape === 'star') return star(n, near);
  if (shape === 'mesh' || shape === 'small_world') return grid(n, edges);
  const disc = rings(n, near, root);
  return n <= SETTLED && n > 2 ? settle(disc, near) : disc;
}

/** Who is whose neighbour: those of node `i` are `to[from[i]]` to `to[from[i + 1]]`. @param {number} n @param {Edges} edges */
export function neighbours(n, { a, b, count }) {
  const from = new Uint32Array(n + 1);
  for (let i = 0; i < count; i += 1) {
    from[a[i] + 1] += 1;
    from[b[i] + 1] += 1;
  }
  for (let i = 0; i < n; i += 1) from[i + 1] += from[i];
  const next = from.slice();
  const to = new Uint32Array(2 * count);
  const link = new Uint32Array(2 * count);
  for (let i = 0; i < count; i += 1) {
    for (const [one, other] of [[a[i], b[i]], [b[i], a[i]]]) {
      link[next[one]] = i;
      to[next[one]] = other;
      next[one] += 1;
    }
  }
  return { from, to, link };
}
/** @typedef {ReturnType<typeof neighbours>} Near */

/** @param {number} n @returns {Places} */
const empty = (n, wide = 1.8) => ({ x: new Float32Array(n), y: new Float32Array(n), wide });

/** @param {number} n */
function circle(n) {
  const places = empty(n);
  for (let i = 0; i < n; i += 1) {
    const turn = (2 * Math.PI * i) / n - Math.PI / 2;
    places.x[i] = Math.cos(turn);
    places.y[i] = Math.sin(turn);
  }
  return places;
}

/** The one with most neighbours in the middle. @param {number} n @param {Near} near */
function star(n, { from }) {
  let hub = 0;
  for (let i = 1; i < n; i += 1) if (from[i + 1] - from[i] > from[hub + 1] - from[hub]) hub = i;
  if (n > CIRCLE) return sunflower(n, hub);
  const places = empty(n);
  const round = circle(Math.max(1, n - 1));
  for (let i = 0, at = 0; i < n; i += 1) {
    if (i === hub) continue;
    places.x[i] = round.x[at];
    places.y[i] = round.y[at];
    at += 1;
  }
  return places;
}

/** @param {number} n @param {number} hub */
function sunflower(n, hub) {
  const places = empty(n, 1.9);
  for (let i = 0, at = 1; i < n; i += 1) {
    const place = i === hub ? 0 : at++;
    const [r, turn] = [Math.sqrt(place / n), 2 * Math.PI * GOLDEN * place];
    places.x[i] = r * Math.cos(turn);
    places.y[i] = r * Math.sin(turn);
  }
  return places;
}

/** Rows as long as the links say: what most nodes are linked to besides the next one stands in the next row. @param {number} n @param {Edges} edges */
function grid(n, { a, b, count }) {
  const steps = new Uint32Array(n + 1);
  for (let i = 0; i < count; i += 1) steps[Math.abs(a[i] - b[i])] += 1;
  let across = Math.ceil(Math.sqrt(n));
  for (let step = 2; step <= n; step += 1) if (steps[step] > steps[across]) across = step;
  const rows = Math.ceil(n / across);
  const places = empty(n, Math.min(2.2, Math.max(1, across / rows) * 1.7));
  const at = (/** @type {number} */ i, /** @type {number} */ of) => (of > 1 ? (2 * i) / (of - 1) - 1 : 0);
  for (let i = 0; i < n; i += 1) {
    places.x[i] = at(i % across, across);
    places.y[i] = at(Math.floor(i / across), rows);
  }
  return places;
}

/**
 * Nodes that are so many hops from the middle stand in the same ring, each near the one it
 * was found by: a flood from the middle is a wave. Every place has as much room.
 * @param {number} n @param {Near} near @param {number} root
 */
function rings(n, near, root) {
  const places = empty(n, 1.9);
  const order = new Uint32Array(n);
  const seen = new Uint8Array(n);
  const starts = [0];
  let known = 0;
  const find = (/** @type {number} */ node) => {
    if (seen[node]) return;
    seen[node] = 1;
    order[known++] = node;
  };
  find(root);
  let from = 0;
  // Who cannot be reached stands outermost.
  for (let lost = 0; from < n;) {
    const to = known;
    starts.push(to);
    for (; from < to; from += 1) for (let i = near.from[order[from]]; i < near.from[order[from] + 1]; i += 1) find(near.to[i]);
    for (; known === to && lost < n; lost += 1) find(lost);
  }
  for (let ring = 1; ring < starts.length; ring += 1) {
    const [first, end] = [starts[ring - 1], starts[ring]];
    const [inner, outer] = [first / n, end / n];
    for (let i = first; i < end; i += 1) {
      const here = i - first + 1;
      // A ring of few is a line, a ring of many a band.
      const part = end - first > 24 ? (here * GOLDEN) % 1 : 0.5;
      const r = first === 0 ? 0 : Math.sqrt(inner + (outer - inner) * part);
      const turn = (2 * Math.PI * here) / (end - first) - Math.PI / 2;
      places.x[order[i]] = r * Math.cos(turn);
      places.y[order[i]] = r * Math.sin(turn);
    }
  }
  return places;
}

/** Linked nodes pull, all nodes push, each round less. @param {Places} places @param {Near} near */
function settle(places, near) {
  const { x, y } = places;
  const n = x.length;
  const want = Math.sqrt(4 / n) * 0.8;
  const [fx, fy] = [new Float32Array(n), new Float32Array(n)];
  for (let round = 0; round < ROUNDS; round += 1) {
    fx.fill(0);
    fy.fill(0);
    for (let i = 0; i < n; i += 1) {
      for (let j = i + 1; j < n; j += 1) {
        const [dx, dy] = [x[i] - x[j], y[i] - y[j]];
        const push = (want * want) / Math.max(1e-4, dx * dx + dy * dy);
        fx[i] += dx * push;
        fy[i] += dy * push;
        fx[j] -= dx * push;
        fy[j] -= dy * push;
      }
      for (let k = near.from[i]; k < near.from[i + 1]; k += 1) {
        const [dx, dy] = [x[near.to[k]] - x[i], y[near.to[k]] - y[i]];
        const pull = Math.hypot(dx, dy) / want;
        fx[i] += dx * pull;
        fy[i] += dy * pull;
      }
      fx[i] -= x[i] * 0.3;
      fy[i] -= y[i] * 0.3;
    }
    const most = 0.12 * (1 - round / ROUNDS) + 0.002;
    for (let i = 0; i < n; i += 1) {
      const go = Math.min(1, most / Math.max(1e-6, Math.hypot(fx[i], fy[i])));
      x[i] += fx[i] * go;
      y[i] += fy[i] * go;
    }
  }
  return filled(places);
}

/** Stretched to the whole room. @param {Places} places */
function filled(places) {
  for (const list of [places.x, places.y]) {
    let [low, high] = [Infinity, -Infinity];
    for (const v of list) [low, high] = [Math.min(low, v), Math.max(high, v)];
    const [middle, half] = [(low + high) / 2, Math.max(1e-6, (high - low) / 2)];
    for (let i = 0; i < list.length; i += 1) list[i] = (list[i] - middle) / half;
  }
  return places;
}
