/** The layer that stands still: nodes and links, and what the followed search has lit so far. */
import { TWICE } from '#lab/routing/flights.js';
import { sides } from '#lab/routing/canvas/names.js';
import { t } from '#lab/strings.js';

/** @import { Palette } from '../look.js' */
/** @import { RoutingRun } from '../run.js' */
/** @import { Places } from '../stage.js' */

/** While the picture is being moved no more links than this are drawn. */
const IN_MOTION = 3000;
/** Smaller nodes are dots. */
const DOT = 2.6;
/** Nodes have names where they are so large, and so far from each other. */
const [NAMED, APART] = [5, 26];
const [QUERY, HIT, PUSH] = [2, 3, 4];

/** @typedef {{now: number, follow: number, colours: Palette, scale: number, moving: boolean}} Look */

export class NetworkLayer {
  /** Nodes and links without what is lit. */
  #base = document.createElement('canvas');
  #shape = '';
  #lit = '';
  #now = -1;
  /** Flights of what is followed, and which of them are drawn. @type {number[]} */ #mine = [];
  #drawn = new Uint8Array(0);
  #scanned = 0;
  #done = 0;
  /** @type {number[]} */ #fresh = [];
  /** What was followed and dropped for another reason than that it came twice. @type {number[]} */ stayed = [];
  /** Drawn in full; while it is moved only a part is. */ whole = true;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
  }

  forget() { this.#shape = ''; }

  /** @param {RoutingRun} run @param {Places} places @param {Look} look */
  paint(run, places, look) {
    const { canvas } = this;
    const shape = `${places.edition}|${run.edition}|${canvas.width}x${canvas.height}|${look.moving}`;
    const lit = `${look.follow}|${run.flights.edition}`;
    if (lit !== this.#lit) {
      this.#lit = lit;
      this.#mine.length = 0;
      this.#scanned = 0;
    }
    const again = shape !== this.#shape;
    if (again) {
      this.#shape = shape;
      this.#redraw(run, places, look);
    }
    const { flights } = run;
    for (; this.#scanned < flights.count; this.#scanned += 1) if (flights.guid[this.#scanned] === look.follow) this.#mine.push(this.#scanned);
    if (look.follow < 0) this.#mine.length = 0;
    if (again || look.now < this.#now || this.#last !== lit) {
      this.#last = lit;
      this.ctx.setTransform(1, 0, 0, 1, 0, 0);
      this.ctx.drawImage(this.#base, 0, 0);
      this.#done = this.stayed.length = 0;
      this.#drawn = new Uint8Array(this.#mine.length);
    } else if (this.#drawn.length < this.#mine.length) {
      const more = new Uint8Array(2 * this.#mine.length);
      more.set(this.#drawn);
      this.#drawn = more;
    }
    this.#now = look.now;
    // Names stand above what is lit.
    if (!this.#light(run, places, look)) return;
    this.#broken(this.ctx, run, places, look);
    if (this.#named(places)) this.#names(this.ctx, run, places, look);
  }
  #last = '';

  /** @param {Places} places */
  #named({ radius, room }) { return radius >= NAMED && room >= APART; }

  /** Draws what has arrived since; false when nothing has. @param {RoutingRun} run @param {Places} places @param {Look} look */
  #light({ flights }, places, look) {
    const mine = this.#mine;
    const fresh = this.#fresh;
    fresh.length = 0;
    for (let k = this.#done; k < mine.length; k += 1) {
      const i = mine[k];
      if (flights.sent[i] > look.now) break;
      if (this.#drawn[k] || flights.due[i] > look.now) continue;
      this.#drawn[k] = 1;
      if (flights.fate[i] > TWICE) this.stayed.push(i);
      else fresh.push(i);
    }
    while (this.#done < mine.length && this.#drawn[this.#done]) this.#done += 1;
    if (!fresh.length) return false;
    const { ctx } = this;
    const { colours, scale } = look;
    const { room, radius, px, py } = places;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    const thin = Math.min(1, Math.max(0.3, room / 36));
    const dense = thin < 0.5;
    const edge = (/** @type {number} */ i, /** @type {number} */ side) => {
      const [a, b] = [flights.from[i], flights.to[i]];
      const [dx, dy] = [px[b] - px[a], py[b] - py[a]];
      const long = Math.max(1, Math.hypot(dx, dy));
      const cut = Math.min(radius + 1.5, long / 3) / long;
      const [ox, oy] = [(-dy / long) * side, (dx / long) * side];
      ctx.moveTo(px[a] + dx * cut + ox, py[a] + dy * cut + oy);
      ctx.lineTo(px[b] - dx * cut + ox, py[b] - dy * cut + oy);
    };
    const draw = (/** @type {(i: number) => boolean} */ which, /** @type {string} */ colour, /** @type {number} */ width, /** @type {number[]} */ dash, side = 0, alpha = 1) => {
      ctx.beginPath();
      let some = false;
      for (const i of fresh) {
        if (!which(i)) continue;
        edge(i, side * thin);
        some = true;
      }
      if (!some) return;
      ctx.setLineDash(dash);
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.globalAlpha = alpha;
      ctx.stroke();
    };
    const { kind, fate } = flights;
    ctx.lineCap = 'butt';
    if (!dense) draw((i) => fate[i] === TWICE, colours.twice, 1.5 * thin, [3, 3], 3);
    draw((i) => kind[i] === QUERY && fate[i] < TWICE, dense ? colours.lit : colours.query, dense ? 1 : 2.5 * thin, []);
    ctx.lineCap = 'round';
    draw((i) => kind[i] === HIT && fate[i] < TWICE, colours.hit, Math.max(2.5, 5.5 * thin), []);
    draw((i) => kind[i] === PUSH && fate[i] < TWICE, colours.push, Math.max(2.5, 5.5 * thin), dense ? [] : [1, 8]);
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
    // The nodes it has reached.
    ctx.fillStyle = dense ? colours.reached : colours.query;
    ctx.beginPath();
    for (const i of fresh) {
      if (fate[i] >= TWICE || kind[i] !== QUERY) continue;
      const at = flights.to[i];
      const r = radius < DOT ? radius + 0.2 : radius * 0.5;
      if (r < DOT) ctx.rect(px[at] - r, py[at] - r, 2 * r, 2 * r);
      else {
        ctx.moveTo(px[at] + r, py[at]);
        ctx.arc(px[at], py[at], r, 0, 7);
      }
    }
    ctx.fill();
    return true;
  }

  /** Everything that stands still, anew. @param {RoutingRun} run @param {Places} places @param {Look} look */
  #redraw(run, places, look) {
    const { width, height } = this.canvas;
    Object.assign(this.#base, { width, height });
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.#base.getContext('2d', { alpha: false }));
    ctx.fillStyle = look.colours.paper;
    ctx.fillRect(0, 0, width, height);
    ctx.setTransform(look.scale, 0, 0, look.scale, 0, 0);
    this.#wires(ctx, run, places, look);
    this.#nodes(ctx, run, places, look);
    if (this.#named(places)) this.#names(ctx, run, places, look);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {RoutingRun} run @param {Places} places @param {Look} look */
  #wires(ctx, { links, up }, { px, py, room, radius }, { colours, moving, scale }) {
    const { a, b, count } = links;
    const step = moving && count > IN_MOTION ? Math.ceil(count / IN_MOTION) : 1;
    this.whole = step === 1;
    ctx.lineWidth = Math.min(1.5, Math.max(0.5, room / 40));
    ctx.globalAlpha = count > 4000 ? Math.max(0.16, Math.min(1, room / 40)) : 1;
    ctx.strokeStyle = colours.wire;
    const line = (/** @type {number} */ i) => {
      ctx.moveTo(px[a[i]], py[a[i]]);
      ctx.lineTo(px[b[i]], py[b[i]]);
    };
    ctx.beginPath();
    for (let i = 0; i < count; i += step) if (!broken(links, up, i)) line(i);
    ctx.stroke();
    ctx.globalAlpha = 1;
    this.#broken(ctx, { links, up }, { px, py, room, radius }, { colours, scale });
  }

  /** Links that are cut, or lead to no node: what was lit there is over. @param {CanvasRenderingContext2D} ctx @param {Pick<RoutingRun, 'links'|'up'>} run @param {Pick<Places, 'px'|'py'|'room'|'radius'>} places @param {Pick<Look, 'colours'|'scale'>} look */
  #broken(ctx, { links, up }, { px, py, room, radius }, { colours, scale }) {
    const { a, b, count } = links;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    const stroke = (/** @type {string} */ colour, /** @type {number} */ width, /** @type {(x: number, y: number, i: number) => void} */ path) => {
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.beginPath();
      for (let i = 0; i < count; i += 1) if (broken(links, up, i)) path((px[a[i]] + px[b[i]]) / 2, (py[a[i]] + py[b[i]]) / 2, i);
      ctx.stroke();
    };
    const line = (/** @type {number} */ _x, /** @type {number} */ _y, /** @type {number} */ i) => {
      const [dx, dy] = [px[b[i]] - px[a[i]], py[b[i]] - py[a[i]]];
      const cut = (radius + 3) / Math.max(3 * radius, Math.hypot(dx, dy));
      ctx.moveTo(px[a[i]] + dx * cut, py[a[i]] + dy * cut);
      ctx.lineTo(px[b[i]] - dx * cut, py[b[i]] - dy * cut);
    };
    ctx.lineCap = 'butt';
    if (room > 18) stroke(colours.paper, 4, line);
    ctx.setLineDash([2, 6]);
    stroke(colours.lost, 1.75, line);
    ctx.setLineDash([]);
    if (room <= 18) return;
    // Two strokes across, where it is cut.
    const across = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ i) => {
      if (links.up[i]) return;
      const turn = Math.atan2(py[b[i]] - py[a[i]], px[b[i]] - px[a[i]]);
      const [c, s] = [Math.cos(turn), Math.sin(turn)];
      for (const off of [-3, 3]) {
        ctx.moveTo(x + c * (off + 3) + s * 8, y + s * (off + 3) - c * 8);
        ctx.lineTo(x + c * (off - 3) - s * 8, y + s * (off - 3) + c * 8);
      }
    };
    stroke(colours.paper, 9, across);
    stroke(colours.lost, 2.25, across);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {RoutingRun} run @param {Places} places @param {Look} look */
  #nodes(ctx, { nodes, up, closed }, { px, py, radius }, { colours }) {
    const path = (/** @type {(i: number) => boolean} */ which, /** @type {number} */ r) => {
      ctx.beginPath();
      for (let i = 0; i < px.length; i += 1) {
        if (!which(i)) continue;
        if (r < DOT) ctx.rect(px[i] - r, py[i] - r, 2 * r, 2 * r);
        else {
          ctx.moveTo(px[i] + r, py[i]);
          ctx.arc(px[i], py[i], r, 0, 7);
        }
      }
    };
    const role = (/** @type {number} */ i) => /** @type {string} */ (nodes[i].role);
    ctx.fillStyle = radius < DOT ? colours.node : colours.surface;
    ctx.strokeStyle = colours.node;
    ctx.lineWidth = 1.5;
    path((i) => up[i] === 1 && role(i) !== 'floods', radius);
    ctx.fill();
    if (radius >= DOT) ctx.stroke();
    this.#special(ctx, nodes, up, { px, py, radius }, colours);
    this.#walls(ctx, closed, { px, py, radius }, colours);
  }

  /** Behind a firewall: a wall of bricks on each side, open at the corners. @param {CanvasRenderingContext2D} ctx @param {Uint8Array} closed @param {{px: Float32Array, py: Float32Array, radius: number}} places @param {Palette} colours */
  #walls(ctx, closed, { px, py, radius }, colours) {
    const r = Math.max(radius, 3.5);
    const [away, half, thick] = [r * 1.95, r * 1.15, Math.max(2, r * 0.42)];
    const wall = () => {
      ctx.beginPath();
      for (let i = 0; i < closed.length; i += 1) {
        if (!closed[i]) continue;
        for (const side of [-away, away]) {
          ctx.moveTo(px[i] - half, py[i] + side);
          ctx.lineTo(px[i] + half, py[i] + side);
          ctx.moveTo(px[i] + side, py[i] - half);
          ctx.lineTo(px[i] + side, py[i] + half);
        }
      }
      ctx.stroke();
    };
    if (!closed.includes(1)) return;
    ctx.lineCap = 'butt';
    ctx.strokeStyle = colours.paper;
    ctx.lineWidth = thick + 3;
    wall();
    ctx.strokeStyle = colours.lost;
    ctx.lineWidth = thick;
    const gap = Math.max(1, r * 0.12);
    ctx.setLineDash(radius < DOT ? [] : [(2 * half - 2 * gap) / 3, gap]);
    wall();
    ctx.setLineDash([]);
  }

  /** Who shares, asks, floods, bears another's id, or is down: each by a sign. @param {CanvasRenderingContext2D} ctx @param {any[]} nodes @param {Uint8Array} up @param {{px: Float32Array, py: Float32Array, radius: number}} places @param {Palette} colours */
  #special(ctx, nodes, up, { px, py, radius }, colours) {
    // Who matters is seen among ten thousand too.
    const r = Math.max(radius, 3.5);
    for (let i = 0; i < px.length; i += 1) {
      const { role } = nodes[i];
      if (role === 'plain' && up[i]) continue;
      const [x, y] = [px[i], py[i]];
      if (!up[i]) {
        ctx.fillStyle = colours.paper;
        ctx.strokeStyle = colours.lost;
        ctx.lineWidth = 1.75;
        ctx.setLineDash(radius < DOT ? [] : [2.5, 2.5]);
        ctx.beginPath();
        ctx.arc(x, y, r, 0, 7);
        ctx.fill();
        ctx.stroke();
        ctx.setLineDash([]);
        continue;
      }
      if (role === 'shares' || role === 'both' || role === 'twin') {
        // A file: a green square around the node.
        ctx.strokeStyle = colours.hit;
        ctx.lineWidth = Math.max(1.2, r * 0.22);
        ctx.beginPath();
        const w = r * 1.45;
        ctx.roundRect(x - w, y - w, 2 * w, 2 * w, r * 0.5);
        if (role === 'twin') ctx.roundRect(x - w - 3, y - w - 3, 2 * w, 2 * w, r * 0.5);
        ctx.stroke();
      }
      if (role === 'asks' || role === 'both') {
        ctx.strokeStyle = colours.query;
        ctx.lineWidth = Math.max(1.2, r * 0.25);
        ctx.beginPath();
        ctx.arc(x, y, r * 1.45, 0, 7);
        ctx.stroke();
      }
      if (role === 'floods') {
        ctx.fillStyle = colours.lost;
        ctx.beginPath();
        for (let k = 0; k < 12; k += 1) {
          const [turn, far] = [(k * Math.PI) / 6, r * (k % 2 ? 0.95 : 1.6)];
          ctx.lineTo(x + far * Math.cos(turn), y + far * Math.sin(turn));
        }
        ctx.fill();
      }
    }
  }

  /** @param {CanvasRenderingContext2D} ctx @param {RoutingRun} run @param {Places} places @param {Look} look */
  #names(ctx, run, places, { colours, scale }) {
    const { nodes, up, closed } = run;
    const edition = `${places.edition}|${closed.includes(1) ? run.edition : 0}`;
    const words = (/** @type {number} */ i) => (closed[i] ? t('name.closed', { name: nodes[i].name }) : nodes[i].name);
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    const font = (/** @type {number} */ i) => `${nodes[i].role === 'plain' ? 550 : 700} ${colours.size}px ${colours.font}`;
    if (this.#sides.edition !== edition) {
      const width = (/** @type {number} */ i) => {
        ctx.font = font(i);
        return ctx.measureText(words(i)).width;
      };
      this.#sides = { edition, of: sides(run, places, width, colours.size) };
    }
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    ctx.lineJoin = 'round';
    ctx.lineWidth = 4;
    ctx.strokeStyle = colours.paper;
    for (const { i, x, y } of this.#sides.of) {
      ctx.font = font(i);
      ctx.strokeText(words(i), x, y);
      ctx.fillStyle = up[i] ? colours.ink : colours.lost;
      ctx.fillText(words(i), x, y);
    }
  }
  /** Where names stand; those that find no room are left out. */
  #sides = { edition: '', of: /** @type {{i: number, x: number, y: number}[]} */ ([]) };
}

/** @param {RoutingRun['links']} links @param {Uint8Array} up @param {number} i */
const broken = ({ a, b, up: whole }, up, i) => whole[i] === 0 || up[a[i]] === 0 || up[b[i]] === 0;
