/** One network: two layers, from where it is looked at, and what lies under the pointer. */
import { el, setAttr, setText, stillness } from '#lab/dom.js';
import { MessageLayer, strength } from '#lab/routing/canvas/message-layer.js';
import { Camera } from '#lab/routing/canvas/camera.js';
import { TWICE } from '#lab/routing/flights.js';
import { NetworkLayer } from '#lab/routing/canvas/network-layer.js';
import { pointing } from '#lab/routing/canvas/pointer.js';
import { Refused } from '#lab/routing/refused.js';
import { Veil } from '#lab/routing/canvas/veil.js';
import { drop, title } from '#lab/routing/words.js';
import { density } from '#lab/theme.js';

/** @import { Palette } from './look.js' */
/** @import { RoutingRun } from './run.js' */

/** Where the nodes are on the picture, and how large. @typedef {{px: Float32Array, py: Float32Array, radius: number, room: number, width: number, height: number, edition: number}} Places */
/** What lies under the pointer. @typedef {{kind: 'node'|'link'|'message', i: number}} Thing */

/** How near the pointer must come, in pixels. */
const NEAR_PX = 11;
/** Links are told apart where there are no more, or the picture is large. */
const LINKS = 4000;
/** After so many milliseconds without another move the picture is drawn in full. */
const REST_MS = 140;
/** A drop is seen for so many usual flights. */
const LINGER = 2.6;
/** So many drops have their reason beside them. */
const WORDS = 5;
/** Above or below a thing they stand so much farther from it than beside it, in pixels. */
const ABOVE_PX = 6;
/** So many prevented connections are shown at once. */
const REFUSED = 4;
/** So many nodes have no names, but when they are enlarged. */
const NAMELESS = 260;
/** More pixels than this are not worth their time. */
const PIXELS = 2.6e6;

export class Stage {
  camera = new Camera();
  /** @type {Places} */ places = { px: new Float32Array(0), py: new Float32Array(0), radius: 6, room: 40, width: 1, height: 1, edition: -1 };
  /** @type {Thing|null} */ pointed = null;
  scale = 1;
  #moved = 0;
  #rest = 0;

  /** @param {RoutingRun} run @param {{touch: () => void, choose: (stage: Stage, thing: Thing|null) => void, menu: (stage: Stage) => void, drawn: ((stage: Stage, from: {x: number, y: number}, to: {x: number, y: number}) => void)|null}} deeds `drawn`: a drag draws a line */
  constructor(run, deeds) {
    this.run = run;
    this.deeds = deeds;
    const layer = (/** @type {string} */ name) => /** @type {HTMLCanvasElement} */ (el('canvas', { class: name, 'aria-hidden': 'true' }));
    const [below, between, above] = [layer('network'), layer('veil'), layer('messages')];
    this.network = new NetworkLayer(below);
    this.veil = new Veil(between);
    this.messages = new MessageLayer(above);
    const mark = (/** @type {string} */ name) => el('span', { class: `routing-mark ${name}`, 'aria-hidden': 'true', hidden: true });
    this.marks = { selected: mark('selected'), pointed: mark('pointed') };
    this.words = Array.from({ length: WORDS }, () => el('span', { class: 'routing-word', 'aria-hidden': 'true', hidden: true }));
    this.refused = Array.from({ length: REFUSED }, () => new Refused());
    this.tip = el('span', { class: 'routing-tip', 'aria-hidden': 'true', hidden: true });
    this.line = el('span', { class: 'routing-line', 'aria-hidden': 'true', hidden: true });
    this.name = el('h2', { class: 'routing-name', hidden: true });
    this.node = el('div', { class: 'routing-stage' }, below, between, above, this.marks.pointed, this.marks.selected, ...this.refused.flatMap(({ line, word }) => [line, word]), ...this.words, this.line, this.tip);
    pointing(this);
  }

  /** @param {number} now */
  faded(now) { return now - this.run.flights.usual * LINGER; }

  /** Looks from elsewhere. @param {() => void} move */
  look(move) {
    move();
    this.#moved = performance.now();
    this.deeds.touch();
  }

  /** Room and places on the picture. */
  #lay() {
    const { camera, run, places } = this;
    const { clientWidth: width, clientHeight: height } = this.node;
    const wanted = density();
    const scale = run.nodes.length > 1000 && width * height * wanted * wanted > PIXELS ? 1 : wanted;
    if (camera.width !== width || camera.height !== height || this.scale !== scale) {
      this.scale = scale;
      for (const canvas of [this.network.canvas, this.veil.canvas, this.messages.canvas]) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
      }
      // On a small screen buttons stand before its upper edge.
      const above = parseFloat(getComputedStyle(this.node).paddingBlockStart);
      camera.fit(width, height, run.places.wide, run.nodes.length > NAMELESS ? 14 : 48, above);
      this.forget();
    }
    if (places.edition === camera.edition) return;
    const { x, y } = run.places;
    const n = x.length;
    const { px, py } = places.px.length === n ? places : { px: new Float32Array(n), py: new Float32Array(n) };
    for (let i = 0; i < n; i += 1) [px[i], py[i]] = [camera.sx(x[i]), camera.sy(y[i])];
    const room = this.#room(px, py);
    this.places = { px, py, width, height, room, radius: Math.min(11, Math.max(1, room * 0.2)), edition: camera.edition };
  }

  /** How far apart nodes are, or would be if they shared the place evenly. @param {Float32Array} px @param {Float32Array} py */
  #room(px, py) {
    const { camera, run } = this;
    const even = Math.sqrt((4 * camera.kx * camera.ky) / Math.max(1, px.length));
    if (run.nodes.length > 400) return even * 0.9;
    const nearest = Array.from(px, (_, i) => {
      let least = Infinity;
      for (let j = 0; j < px.length; j += 1) if (i !== j) least = Math.min(least, Math.hypot(px[i] - px[j], py[i] - py[j]));
      return least;
    }).sort((a, b) => a - b);
    // A few that stand close make all the others no smaller.
    return Math.min(even, Math.max(nearest[nearest.length >> 3], even * 0.35));
  }

  forget() {
    this.network.forget();
    this.veil.forget();
    this.messages.forget();
  }

  /** @param {{colours: Palette, follow: number, selected: Thing|null, found: import('../session/sought.js').Find|null}} how */
  paint({ colours, follow, selected, found }) {
    const { run, messages } = this;
    const { now } = run;
    if (this.node.clientWidth === 0 || this.node.clientHeight === 0) return;
    run.refreshLinks();
    this.#lay();
    const { places, scale } = this;
    const moving = performance.now() - this.#moved < REST_MS;
    this.network.paint(run, places, { now, follow, colours, scale, moving: moving && run.links.count > LINKS });
    if (moving && !this.network.whole) {
      clearTimeout(this.#rest);
      this.#rest = window.setTimeout(() => this.deeds.touch(), REST_MS + 20);
    }
    this.veil.paint(places, found, colours, scale);
    const faded = this.faded(now);
    messages.gather(run, now, faded, this.network.stayed);
    this.sight = { now, faded, colours, scale, follow, found, still: stillness(), size: MessageLayer.size(messages.count, places.room) };
    messages.paint(run, places, this.sight);
    this.#mark('selected', selected);
    this.#mark('pointed', this.pointed);
    this.#say();
    this.#refuse(now, faded);
    const tip = this.pointed ? title(run, this.pointed) : '';
    setText(this.tip, tip);
    this.tip.hidden = tip === '';
    if (tip) this.#put(this.tip, this.pointed, 14);
  }
  /** @type {import('./canvas/message-layer.js').Sight|null} */ sight = null;

  /** The line that is being drawn. @param {{x: number, y: number}|null} from @param {{x: number, y: number}} to */
  draw(from, to) {
    this.line.hidden = from === null;
    if (!from) return;
    this.line.style.width = `${Math.hypot(to.x - from.x, to.y - from.y)}px`;
    this.line.style.transform = `translate(${from.x}px, ${from.y}px) rotate(${Math.atan2(to.y - from.y, to.x - from.x)}rad)`;
  }

  /** Where a thing is; `null` when it cannot be seen. @param {Thing|null} thing @returns {{x: number, y: number}|null} */
  where(thing) {
    const { run, places: { px, py }, messages } = this;
    if (!thing || !this.sight) return null;
    if (thing.kind === 'node') return { x: px[thing.i], y: py[thing.i] };
    if (thing.kind === 'link') return { x: (px[run.links.a[thing.i]] + px[run.links.b[thing.i]]) / 2, y: (py[run.links.a[thing.i]] + py[run.links.b[thing.i]]) / 2 };
    const { sent, due, fate } = run.flights;
    const { now } = run;
    // What has come home is where it came to.
    if (due[thing.i] <= now && fate[thing.i] < TWICE) return { x: px[run.flights.to[thing.i]], y: py[run.flights.to[thing.i]] };
    if (sent[thing.i] > now) return { x: px[run.flights.from[thing.i]], y: py[run.flights.from[thing.i]] };
    messages.locate(run, thing.i, this.places, this.sight);
    return { x: messages.x, y: messages.y };
  }

  /** A ring around a node or message, a bar along a link. @param {'selected'|'pointed'} which @param {Thing|null} thing */
  #mark(which, thing) {
    const mark = this.marks[which];
    const at = this.where(thing);
    mark.hidden = !at || !thing;
    if (!at || !thing) return;
    const { px, py, radius } = this.places;
    const { links } = this.run;
    let [width, height, turn] = [2 * radius + 12, 2 * radius + 12, 0];
    if (thing.kind === 'message') width = height = 26;
    if (thing.kind === 'link') {
      const [dx, dy] = [px[links.b[thing.i]] - px[links.a[thing.i]], py[links.b[thing.i]] - py[links.a[thing.i]]];
      [width, height, turn] = [Math.max(12, Math.hypot(dx, dy) - 2 * radius), 12, Math.atan2(dy, dx)];
    }
    mark.style.width = `${width}px`;
    mark.style.height = `${height}px`;
    mark.style.transform = `translate(${at.x - width / 2}px, ${at.y - height / 2}px) rotate(${turn}rad)`;
  }

  /** The newest drops say why, where there is room. */
  #say() {
    const { run, messages, words, places } = this;
    const { fate, to } = run.flights;
    let used = 0;
    if (messages.count < 1500 && places.room > 18) {
      for (let k = messages.gone.count - 1; k >= 0 && used < WORDS; k -= 1) {
        const i = messages.gone.list[k];
        // Duplicates are many and all the same.
        if (fate[i] === TWICE && (messages.gone.count > 3 || places.room < 60)) continue;
        const at = this.where({ kind: 'message', i });
        if (!at || words.slice(0, used).some((w) => Math.abs(w.x - at.x) < 110 && Math.abs(w.y - at.y) < 22)) continue;
        const word = words[used++];
        Object.assign(word, at);
        setText(word, drop(run, i));
        setAttr(word, 'data-twice', fate[i] === TWICE ? '' : null);
        word.hidden = false;
        word.style.opacity = String(this.sight ? strength(run.flights, i, this.sight) : 1);
        this.#put(word, { kind: 'message', i }, 12, places.px[to[i]] > at.x);
      }
    }
    for (const word of words.slice(used)) word.hidden = true;
  }

  /** Connections that a firewall prevented a moment ago. @param {number} now @param {number} faded */
  #refuse(now, faded) {
    const fresh = this.run.refusals.filter(({ at }) => at <= now && at > faded).slice(-REFUSED);
    this.refused.forEach((mark, i) => mark.show(fresh[i], this.places, Math.min(1, (1.4 * (fresh[i]?.at - faded)) / Math.max(1, now - faded))));
  }

  /** Beside a thing, within the picture, and where it can be over no node. @param {any} box @param {Thing|null} thing @param {number} away @param {boolean} left of it, where there is room */
  #put(box, thing, away, left = false) {
    const at = this.where(thing);
    if (!at) return;
    const { width, height } = this.places;
    const [wide, high] = [box.offsetWidth, box.offsetHeight];
    const [before, after, middle, centre] = [at.x - away - wide, at.x + away, at.y - high / 2, at.x - wide / 2];
    const over = away + ABOVE_PX;
    const spots = [[left ? before : after, middle], [left ? after : before, middle], [centre, at.y - over - high], [centre, at.y + over]];
    const inside = spots.filter(([x]) => x > 0 && x + wide < width);
    const [x, y] = inside.find((spot) => this.#free(spot, wide, high)) ?? inside[0] ?? spots[0];
    box.style.transform = `translate(${Math.max(2, Math.round(x))}px, ${Math.min(height - high - 2, Math.max(2, Math.round(y)))}px)`;
  }

  /** True where a box lies over no node. @param {number[]} corner @param {number} wide @param {number} high */
  #free([left, top], wide, high) {
    const { px, py, radius, height } = this.places;
    if (top < 0 || top + high > height) return false;
    if (px.length > NAMELESS) return true;
    return px.every((x, i) => Math.hypot(x - Math.max(left, Math.min(left + wide, x)), py[i] - Math.max(top, Math.min(top + high, py[i]))) > radius);
  }

  /** What lies under a point. @param {number} x @param {number} y @returns {Thing|null} */
  under(x, y) {
    return this.#message(x, y) ?? this.#node(x, y) ?? this.#link(x, y);
  }

  /** @param {number} x @param {number} y @returns {Thing|null} */
  #message(x, y) {
    const { messages, sight, run } = this;
    if (!sight || messages.count > 6000) return null;
    let [best, least] = [-1, NEAR_PX];
    for (const of of [messages.flying, messages.gone]) {
      for (let k = 0; k < of.count; k += 1) {
        messages.locate(run, of.list[k], this.places, sight);
        const away = Math.hypot(messages.x - x, messages.y - y);
        if (away < least) [best, least] = [of.list[k], away];
      }
    }
    return best < 0 ? null : { kind: 'message', i: best };
  }

  /** @param {number} x @param {number} y @returns {Thing|null} */
  #node(x, y) {
    const { px, py, radius } = this.places;
    let [best, least] = [-1, Math.max(NEAR_PX, radius + 4)];
    for (let i = 0; i < px.length; i += 1) {
      const away = Math.abs(px[i] - x) > least ? Infinity : Math.hypot(px[i] - x, py[i] - y);
      if (away < least) [best, least] = [i, away];
    }
    return best < 0 ? null : { kind: 'node', i: best };
  }

  /** @param {number} x @param {number} y @returns {Thing|null} */
  #link(x, y) {
    const { px, py, room } = this.places;
    const { a, b, count } = this.run.links;
    if (count > LINKS && room < 30) return null;
    let [best, least] = [-1, NEAR_PX * 0.7];
    for (let i = 0; i < count; i += 1) {
      const [x0, y0, dx, dy] = [px[a[i]], py[a[i]], px[b[i]] - px[a[i]], py[b[i]] - py[a[i]]];
      const part = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / Math.max(1, dx * dx + dy * dy)));
      const away = Math.hypot(x - x0 - part * dx, y - y0 - part * dy);
      if (away < least) [best, least] = [i, away];
    }
    return best < 0 ? null : { kind: 'link', i: best };
  }

}
