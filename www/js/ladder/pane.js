/** `LadderPane`: what pictures of arrows between lines on one clock have in common. */
import { el, setAttr, stillness } from '#lab/dom.js';
import { density, onColours } from '#lab/theme.js';
import { t } from '#lab/strings.js';
import { Axis } from '#lab/ladder/axis.js';
import { glide } from '#lab/ladder/glide.js';
import { ArrowList } from '#lab/ladder/list.js';

/** @import { Session } from '../session/session.js' */
/** @import { Kind } from './axis.js' */
/** @import { Line } from './draw.js' */

/** While the future is still being found out the picture is made anew this often, in milliseconds. */
const LEARN_MS = 200;
/** Where on the picture the present stands while it plays. */
const PRESENT = 0.62;

/** @typedef {{explored: boolean, edition: number, flight: number, refresh(): unknown, instants(): number[]}} LadderRun */
/** @typedef {{run: LadderRun, refresh(): void}} LadderLane */
/** @typedef {{id: number, sent: number, due: number, at: number|null}} LadderArrow */

export class LadderPane extends HTMLElement {
  kind = /** @type {Kind} */ ('real');
  fold = true;
  /** The steps of the scale, and which of them is chosen. @type {number[]} */ zooms = [1];
  zoom = 0;
  axis = new Axis([0], { kind: 'real', fold: true, zoom: 1, flight: 20_000 });
  /** @type {Axis|null} */ pace = null;
  #shape = '';
  #learnt = 0;
  #follow = true;
  /** Whether the picture has the height that it opens with. */
  #opened = false;
  #now = -1;
  /** So high was the picture when the present was last looked for. */
  #height = 0;
  /** Where the picture stood before what opened beside it moved it. @type {{ height: number, top: number } | null} */
  #before = null;
  #listing = 0;

  /** The runs that are shown. @returns {LadderLane[]} */
  runs() { return []; }
  /** The next arrow, or the one before. @param {number} _by */
  move(_by) {}
  /** @param {number} _id */
  choose(_id) {}
  /** The axis is another one. */
  planned() {}
  /** The colours are other ones. */
  repaint() {}

  /**
   * Makes the picture, and what lies over it.
   * @param {Session} session
   * @param {{name: string, picture: string, empty: string, over?: HTMLElement[]}} what of its classes, and its words
   * @param {(arrow: any, run: any) => string} tell an arrow as a sentence
   */
  frame(session, { name, picture, empty, over = [] }, tell) {
    this.session = session;
    const redraw = () => session.clock.touch();
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { 'aria-hidden': 'true' }));
    this.room = el('div', { class: `${name}-room` }, this.canvas, ...over);
    this.scroller = el('div', { class: `${name}-scroll`, role: 'group', tabindex: '0', 'aria-label': picture, on: { scroll: redraw } }, this.room);
    this.empty = el('p', { class: `${name}-empty`, text: empty });
    this.list = new ArrowList((by) => this.move(by), (id) => this.choose(id), tell);
    const repaint = () => {
      this.repaint();
      redraw();
    };
    session.addEventListener('theme', repaint);
    session.addEventListener('play', () => { if (session.clock.playing) this.#follow = true; });
    onColours(repaint);
    new ResizeObserver(redraw).observe(this);
    // A person who looks elsewhere is not dragged back.
    for (const type of ['wheel', 'touchmove']) this.scroller.addEventListener(type, () => { this.#follow = false; }, { passive: true });
    return el('div', { class: `${name}-body` }, this.scroller, this.empty, this.list.node);
  }

  /** The button that folds silence, and those of the scale. */
  axisButtons() {
    const zoom = (/** @type {number} */ by, /** @type {string} */ sign) => el('button', { class: 'button small icon plain', type: 'button', data: { zoom: by }, 'aria-label': t(`zoom.${by}`), title: t(`zoom.${by}`), on: { click: () => this.look({ zoom: Math.min(this.zooms.length - 1, Math.max(0, this.zoom + by)) }) } }, sign);
    this.folds = el('button', { class: 'button small', type: 'button', data: { fold: '' }, text: t('axis.fold'), title: t('axis.fold.long'), on: { click: () => this.look({ fold: !this.fold }) } });
    this.scale = el('div', { class: 'zoom', role: 'group', 'aria-label': t('zoom.label') }, zoom(-1, '−'), zoom(1, '+'));
    return [this.folds, this.scale];
  }

  /** Looks another way; the moment in the middle stays there. @param {Record<string, unknown>} how */
  look(how) {
    const middle = this.scroller.scrollTop + this.scroller.clientHeight / 2;
    const at = this.axis.to(middle);
    Object.assign(this, how);
    this.plan();
    this.scroller.scrollTop = this.axis.of(at) - this.scroller.clientHeight / 2;
    this.session?.clock.touch();
  }

  /** Nothing is known of what is shown from now on. */
  begin() {
    // What was to be listed is of a run that is gone.
    clearTimeout(this.#listing);
    this.#shape = '';
    this.#learnt = 0;
    this.#now = -1;
    this.#follow = true;
    this.#opened = false;
    if (this.scroller) this.scroller.scrollTop = 0;
  }

  /** Takes up what has become known, but not at every frame. */
  learn() {
    const lanes = this.runs();
    const known = lanes.every(({ run }) => run.explored);
    if (!known) this.session?.clock.touch();
    if (!known && this.#learnt && performance.now() - this.#learnt < LEARN_MS) return;
    this.#learnt = performance.now();
    for (const lane of lanes) {
      lane.run.refresh();
      lane.refresh();
    }
  }

  /** The axis, shared by all pictures. */
  plan() {
    const runs = this.runs().map(({ run }) => run);
    const shape = `${runs.map(({ edition }) => edition).join()}|${this.kind}|${this.fold}|${this.zoom}`;
    if (!runs.length || shape === this.#shape) return;
    this.#shape = shape;
    const instants = [...new Set(runs.flatMap((run) => run.instants()))].sort((a, b) => a - b);
    const how = { zoom: this.zooms[this.zoom], flight: Math.min(...runs.map(({ flight }) => flight)) };
    this.axis = new Axis(instants, { ...how, kind: this.kind, fold: this.fold });
    // The clock goes along the folded real time, whatever is shown: silence passes quickly.
    this.pace = new Axis(instants, { ...how, zoom: 1, kind: 'real', fold: true });
    this.room.style.height = `${Math.ceil(this.axis.height)}px`;
    setAttr(this.folds, 'aria-pressed', String(this.fold));
    for (const button of this.scale?.querySelectorAll('[data-zoom]') ?? []) button.disabled = this.zoom === (button.dataset.zoom === '1' ? this.zooms.length - 1 : 0);
    this.planned();
  }

  /** The present is looked for anew, unless a person looks elsewhere. */
  findPresent() {
    if (this.#follow) this.#now = -1;
  }

  /** The present stays in sight. */
  keepUp() {
    const session = /** @type {Session} */ (this.session);
    const now = session.run?.now ?? 0;
    const { scrollTop, clientHeight } = this.scroller;
    if (this.#opening(now) || now === this.#now) {
      if (clientHeight !== this.#height && this.#follow) this.#roomChanged(now);
      this.#height = clientHeight;
      return;
    }
    const first = this.#now < 0;
    [this.#now, this.#height, this.#before] = [now, clientHeight, null];
    const y = this.axis.of(now);
    if (session.clock.playing) {
      if (this.#follow) this.scroller.scrollTop = stillness() ? Math.floor(y / clientHeight + 0.15) * clientHeight - clientHeight * 0.15 : y - clientHeight * PRESENT;
    } else if (y < scrollTop + clientHeight * 0.12 || y > scrollTop + clientHeight * 0.9) {
      this.#follow = true;
      if (first) this.scroller.scrollTop = y - clientHeight / 2;
      else glide(this.scroller, y - clientHeight / 2);
    }
  }

  /**
   * While more of the picture is being found out it gets higher: where it opens does not
   * depend on how much was known of it at first.
   * @param {number} now
   */
  #opening(now) {
    this.#opened ||= this.session?.clock.playing || !this.#follow;
    if (this.#opened) return false;
    const { clientHeight } = this.scroller;
    const y = this.axis.of(now);
    this.scroller.scrollTop = y > clientHeight * 0.9 ? y - clientHeight / 2 : 0;
    this.#opened = this.runs().every(({ run }) => run.explored);
    [this.#now, this.#height, this.#before] = [now, clientHeight, null];
    return true;
  }

  /** What opens beside the picture leaves it less room, and gives it back when it closes. @param {number} now */
  #roomChanged(now) {
    const { scrollTop, clientHeight } = this.scroller;
    const y = this.axis.of(now);
    if (this.#before && clientHeight >= this.#before.height) {
      this.scroller.scrollTop = this.#before.top;
      this.#before = null;
    } else if (y < scrollTop + clientHeight * 0.12 || y > scrollTop + clientHeight * 0.9) {
      this.#before ??= { height: this.#height, top: scrollTop };
      this.scroller.scrollTop = y - clientHeight / 2;
    }
  }

  /** The canvas is as large as what is in sight. */
  fit() {
    const canvas = /** @type {HTMLCanvasElement} */ (this.canvas);
    const [width, height] = [this.scroller.clientWidth, this.scroller.clientHeight];
    const scale = density();
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    return { width, height, scale };
  }

  /** The list beside the picture is not read while the picture moves, unless it is in use. @param {() => void} write */
  listSoon(write) {
    clearTimeout(this.#listing);
    if (document.activeElement === this.list?.node || this.list?.node.childElementCount === 0) write();
    else this.#listing = window.setTimeout(write, LEARN_MS);
  }

  /** The arrow so many behind the selected one; without one, behind the first that has not landed yet. @template {LadderArrow} A @param {A[]} arrows at least one @param {number} by @returns {A} */
  step(arrows, by) {
    const session = /** @type {Session} */ (this.session);
    const here = arrows.findIndex((a) => a.id === session.selection.arrow);
    const now = session.run?.now ?? 0;
    const open = arrows.findIndex((a) => Math.max(a.sent, a.at ?? a.due) >= now);
    const fresh = open < 0 ? arrows.length - 1 : open;
    return arrows[by === -Infinity ? 0 : by === Infinity ? arrows.length - 1 : here < 0 ? fresh : Math.min(arrows.length - 1, Math.max(0, here + by))];
  }

  reveal() { if (this.session?.selection.arrow !== undefined) this.move(0); }

  /** Scrolls to an arrow that is out of sight. @param {Line} line */
  bring({ y0, y1 }) {
    const { scroller, list } = this;
    this.#opened = true;
    // The list lies over the picture while it is used.
    const clientHeight = scroller.clientHeight - (list && document.activeElement === list.node ? list.node.offsetHeight : 0);
    if (y0 < scroller.scrollTop + 8 || y1 > scroller.scrollTop + clientHeight - 24) glide(scroller, (y0 + y1) / 2 - clientHeight / 2);
  }

  /** Where on the picture, from its top, an event is. @param {MouseEvent} event @returns {[number, number]} */
  spot(event) {
    const { left, top } = this.scroller.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top + this.scroller.scrollTop];
  }

  /** Goes to the moment at that height. @param {number} y */
  seek(y) {
    this.session?.clock.pause();
    this.session?.clock.seek(this.axis.to(y));
  }
}
