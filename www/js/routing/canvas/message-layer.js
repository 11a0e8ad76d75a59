/** The moving layer: what is on its way now, and what was just dropped. */
import { DROPPED, LOST, TWICE } from '#lab/routing/flights.js';
import { KINDS, shape } from '#lab/routing/look.js';
import { COS, SIN, Sprites, turnOf } from '#lab/routing/canvas/sprites.js';

/** @import { Palette } from '../look.js' */
/** @import { RoutingRun } from '../run.js' */
/** @import { Places } from '../stage.js' */

/** So many signs are drawn as shapes; more are written as pixels. */
const FEW = 260;
/** Sizes by how many there are: up to so many, so large. */
const SIZES = /** @type {const} */ ([[1500, 5], [4000, 3.5], [9000, 2.5], [24_000, 2], [60_000, 1.5], [Infinity, 1]]);
/** How strongly what is not looked for is drawn. */
const PALE = 0.12;
/** So many keep their shapes, however close nodes stand. */
const SHAPED = 5000;
/** Messages keep to the right of their link, in pixels. */
const SIDE = 3.5;
/** A drop is drawn so far before the node that dropped it. */
const BEFORE_PX = 15;
/** Where a message stands that does not move. */
const STILL = 0.62;

/** @typedef {{now: number, faded: number, colours: Palette, still: boolean, scale: number, size: number, follow: number, found: import('../../session/sought.js').Find|null}} Sight */

/** How strongly a drop is drawn: it fades, but what is followed stays. @param {import('../flights.js').Flights} flights @param {number} i @param {Sight} sight */
export function strength(flights, i, { now, faded, follow, found }) {
  const { due, fate, guid } = flights;
  if (found && !meant(flights, i, { follow, found })) return PALE;
  if (fate[i] > TWICE && guid[i] === follow) return 1;
  return Math.max(0.15, Math.min(1, (1.4 * (due[i] - faded)) / Math.max(1, now - faded)));
}

/** Whether a message is what is looked for, or else what is followed. @param {import('../flights.js').Flights} flights @param {number} i @param {{follow: number, found: import('../../session/sought.js').Find|null}} sight */
function meant({ id, seq, guid }, i, { follow, found }) {
  return found ? found.ids.has(id[i]) || found.seqs.has(seq[i]) : follow < 0 || guid[i] === follow;
}

/** A list of numbers that grows and is used again. */
class Numbers {
  list = new Uint32Array(1024);
  count = 0;
  /** @param {number} n */
  push(n) {
    if (this.count === this.list.length) {
      const more = new Uint32Array(2 * this.count);
      more.set(this.list);
      this.list = more;
    }
    this.list[this.count++] = n;
  }
}

export class MessageLayer {
  /** What is in flight, as places in the list of flights. */
  flying = new Numbers();
  /** What was dropped a short while ago. */
  gone = new Numbers();
  /** What was written last, and its rows. @type {ImageData|null} */ #image = null;
  #words = new Uint32Array(0);
  #top = 0;
  #bottom = 0;
  /** @type {Sprites|null} */ #sprites = null;
  /** The canvas shows what was written. */
  #written = false;
  #empty = false;
  /** Where the sign is that was looked at last, and where it goes. */
  x = 0;
  y = 0;
  turn = 0;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  }

  get count() { return this.flying.count + this.gone.count; }

  /** Finds out what is to be seen. @param {RoutingRun} run @param {number} now @param {number} faded what was dropped before it is forgotten @param {number[]} stayed drops that are not */
  gather({ flights }, now, faded, stayed) {
    const { flying, gone } = this;
    const { due, fate } = flights;
    const end = flights.firstFrom(now + 0.5);
    flying.count = gone.count = 0;
    for (const i of stayed) if (due[i] <= faded) gone.push(i);
    for (let i = flights.firstFrom(faded - flights.longest); i < end; i += 1) {
      if (due[i] > now) flying.push(i);
      else if (due[i] > faded && fate[i] >= DROPPED) gone.push(i);
    }
  }

  /** Where a message is: on its way, or where it was dropped. @param {RoutingRun} run @param {number} i @param {Places} places @param {Sight} sight */
  locate({ flights }, i, { px, py }, { now, still, size }) {
    const [a, b] = [flights.from[i], flights.to[i]];
    const [dx, dy] = [px[b] - px[a], py[b] - py[a]];
    const due = flights.due[i];
    let part = STILL;
    if (due <= now) part = flights.fate[i] >= LOST ? 0.5 : Math.max(0.55, 1 - BEFORE_PX / Math.max(1, Math.hypot(dx, dy)));
    else if (!still) part = (now - flights.sent[i]) / (due - flights.sent[i]);
    this.turn = turnOf(dx, dy);
    const side = Math.min(SIDE, size);
    this.x = px[a] + dx * part - SIN[this.turn] * side;
    this.y = py[a] + dy * part + COS[this.turn] * side;
  }

  /** @param {RoutingRun} run @param {Places} places @param {Sight} sight */
  paint(run, places, sight) {
    const { count } = this;
    if (count === 0 && this.#empty) return;
    if (count <= FEW) this.#shapes(run, places, sight);
    else this.#write(run, places, sight);
    this.#empty = count === 0;
  }

  /** Forgets what was drawn: other colours, another size. */
  forget() {
    this.#sprites = null;
    this.#image = null;
    this.#empty = false;
  }

  /** How large signs are while so many are seen. @param {number} count @param {number} room pixels between two nodes */
  static size(count, room) {
    if (count <= FEW) return Math.min(6.5, Math.max(2.5, room * 0.2));
    const [, most] = /** @type {[number, number]} */ (/** @type {unknown} */ (SIZES.find(([upTo]) => count <= upTo)));
    return Math.min(most, Math.max(count <= SHAPED ? 2.6 : 1, room * 0.4));
  }

  /** Signs as shapes. @param {RoutingRun} run @param {Places} places @param {Sight} sight */
  #shapes(run, places, sight) {
    const { ctx, canvas, flying, gone } = this;
    const { scale, colours, found, size } = sight;
    const { flights } = run;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    this.#written = false;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.lineJoin = ctx.lineCap = 'round';
    ctx.strokeStyle = colours.paper;
    for (let k = 0; k < gone.count; k += 1) {
      const i = gone.list[k];
      this.locate(run, i, places, sight);
      const twice = flights.fate[i] === TWICE;
      ctx.globalAlpha = strength(flights, i, sight);
      ctx.beginPath();
      shape(ctx, 'lost', this.x, this.y, Math.min(size, twice ? 3.5 : 5.5), 1, 0);
      ctx.lineWidth = twice ? 4 : 6;
      ctx.strokeStyle = colours.paper;
      ctx.stroke();
      ctx.lineWidth = twice ? 1.75 : 2.75;
      ctx.strokeStyle = twice ? colours.twice : colours.lost;
      ctx.stroke();
    }
    ctx.strokeStyle = colours.paper;
    ctx.lineWidth = 2.5;
    for (let kind = 0; kind < KINDS.length; kind += 1) {
      for (const mine of [false, true]) {
        ctx.beginPath();
        let some = false;
        for (let k = 0; k < flying.count; k += 1) {
          const i = flying.list[k];
          if (flights.kind[i] !== kind || meant(flights, i, sight) !== mine) continue;
          this.locate(run, i, places, sight);
          shape(ctx, KINDS[kind], this.x, this.y, size, COS[this.turn], SIN[this.turn]);
          some = true;
        }
        if (!some) continue;
        ctx.globalAlpha = mine ? 1 : found ? PALE : 0.45;
        ctx.stroke();
        ctx.fillStyle = colours[KINDS[kind]];
        ctx.fill();
      }
    }
    ctx.globalAlpha = 1;
  }

  /** Signs as pixels. @param {RoutingRun} run @param {Places} places @param {Sight} sight */
  #write(run, places, sight) {
    const { ctx, flying, gone } = this;
    const { width, height } = this.canvas;
    const { flights } = run;
    const { found, scale } = sight;
    if (!this.#image || this.#image.width !== width || this.#image.height !== height) {
      this.#image = ctx.createImageData(width, height);
      this.#words = new Uint32Array(this.#image.data.buffer);
      this.#top = this.#bottom = 0;
      this.#written = false;
    }
    const words = this.#words;
    words.fill(0, this.#top * width, this.#bottom * width);
    let [top, bottom] = [height, 0];
    const sprites = this.#sprites ??= new Sprites(sight.colours);
    const r = sight.size * scale;
    // What was dropped lies under what moves.
    for (let k = -gone.count; k < flying.count; k += 1) {
      const i = k < 0 ? gone.list[k + gone.count] : flying.list[k];
      this.locate(run, i, places, sight);
      let sprite;
      if (k < 0) {
        const step = Math.floor(strength(flights, i, sight) * 3.99);
        sprite = flights.fate[i] === TWICE ? sprites.of('twice', 8, r * 0.6, 0, step >> 1) : sprites.of('lost', 7, r, 0, step);
      } else sprite = sprites.of(KINDS[flights.kind[i]], flights.kind[i], r, this.turn, meant(flights, i, sight) ? 3 : found ? 0 : 1);
      const x = Math.round(this.x * scale);
      const y = Math.round(this.y * scale);
      const { reach, dx, dy, colour } = sprite;
      if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
      if (y - reach < top) top = y - reach;
      if (y + reach >= bottom) bottom = y + reach + 1;
      const here = y * width + x;
      for (let p = 0; p < colour.length; p += 1) {
        const to = here + dy[p] * width + dx[p];
        // The first byte says how much it covers.
        if (words[to] <= colour[p]) words[to] = colour[p];
      }
    }
    const from = this.#written ? Math.min(top, this.#top) : 0;
    const to = this.#written ? Math.max(bottom, this.#bottom) : height;
    if (to > from) ctx.putImageData(this.#image, 0, 0, 0, from, width, to - from);
    [this.#top, this.#bottom] = [Math.min(top, bottom), bottom];
    this.#written = true;
  }
}
