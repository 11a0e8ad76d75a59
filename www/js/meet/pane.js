/** `<meet-pane>`: people, their routers and the meeting place, on one clock. */
import { el, setAttr, stillness } from '#lab/dom.js';
import { openMenu } from '#lab/panels/menu.js';
import { onColours } from '#lab/theme.js';
import { t } from '#lab/strings.js';
import { Axis } from '#lab/unicast/axis.js';
import { backdrop } from '#lab/unicast/backdrop.js';
import { ArrowList } from '#lab/unicast/list.js';
import { gesturesOf, selectionOf } from '#lab/meet/gestures.js';
import { Heads } from '#lab/meet/heads.js';
import { Lane } from '#lab/meet/lane.js';
import { palette } from '#lab/meet/look.js';
import { legend } from '#lab/meet/signs.js';
import { sentence } from '#lab/meet/words.js';

/** @import * as T from './types' */
/** @import { MeetRun } from './run.js' */
/** @import { Session } from '../session/session.js' */

const ZOOMS = [0.25, 0.5, 1, 2, 4];
/** While the future is still being found out the picture is made anew this often, in milliseconds. */
const LEARN_MS = 200;
/** Where on the picture the present stands while it plays. */
const PRESENT = 0.62;
/** A pane that is lower or narrower, in letters, begins without tables. */
const [TABLES_WIDE, TABLES_TALL] = [35, 32];

export class MeetPane extends HTMLElement {
  /** @type {Lane|null} */ lane = null;
  fold = true;
  zoom = 2;
  /** Whether tables are shown; null until a person has chosen. @type {boolean|null} */ tables = null;
  axis = new Axis([0], { kind: 'real', fold: true, zoom: 1, flight: 20_000 });
  /** @type {Axis|null} */ pace = null;
  #shape = '';
  #learnt = 0;
  #follow = true;
  #now = -1;
  #listing = 0;
  /** @type {number|null} */ #pointed = null;
  /** @type {import('./look.js').Palette|undefined} */ colours = undefined;

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    const redraw = () => session.clock.touch();
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { 'aria-hidden': 'true' }));
    this.room = el('div', { class: 'meet-room' }, this.canvas);
    this.scroller = el('div', { class: 'meet-scroll', role: 'group', tabindex: '0', 'aria-label': t('meet.picture'), on: { scroll: redraw } }, this.room);
    this.empty = el('p', { class: 'meet-empty', text: t('meet.empty') });
    this.list = new ArrowList((by) => this.move(by), (id) => this.choose(id), sentence);
    this.heads = new Heads(session, (node) => this.#selectNode(node));
    this.bar = this.#bar();
    this.replaceChildren(this.bar, this.heads.node, el('div', { class: 'meet-body' }, this.scroller, this.empty, this.list.node), legend());
    this.#point();
    const repaint = () => {
      this.colours = undefined;
      redraw();
    };
    session.addEventListener('theme', repaint);
    session.addEventListener('play', () => { if (session.clock.playing) this.#follow = true; });
    onColours(repaint);
    new ResizeObserver(redraw).observe(this);
  }

  #bar() {
    const zoom = (/** @type {number} */ by, /** @type {string} */ sign) => el('button', { class: 'button small icon plain', type: 'button', data: { zoom: by }, 'aria-label': t(`zoom.${by}`), title: t(`zoom.${by}`), on: { click: () => this.#look({ zoom: Math.min(ZOOMS.length - 1, Math.max(0, this.zoom + by)) }) } }, sign);
    this.tabler = el('button', { class: 'button small', type: 'button', data: { tables: '' }, text: t('tables.show'), title: t('tables.show.long'), on: { click: () => this.toggleTables() } });
    this.folds = el('button', { class: 'button small', type: 'button', data: { fold: '' }, text: t('axis.fold'), title: t('axis.fold.long'), on: { click: () => this.#look({ fold: !this.fold }) } });
    return el('div', { class: 'meet-bar' }, this.tabler, this.folds, el('div', { class: 'zoom', role: 'group', 'aria-label': t('zoom.label') }, zoom(-1, '−'), zoom(1, '+')));
  }

  /** Shows the routers' tables, or hides them. */
  toggleTables() {
    this.tables = !this.#tabled();
    this.session?.clock.touch();
  }
  #tabled() {
    if (this.tables !== null) return this.tables;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return this.clientWidth >= TABLES_WIDE * rem && this.clientHeight >= TABLES_TALL * rem;
  }

  /** Looks another way; the moment in the middle stays there. @param {Partial<{fold: boolean, zoom: number}>} how */
  #look(how) {
    const middle = this.scroller.scrollTop + this.scroller.clientHeight / 2;
    const at = this.axis.to(middle);
    Object.assign(this, how);
    this.#plan();
    this.scroller.scrollTop = this.axis.of(at) - this.scroller.clientHeight / 2;
    this.session?.clock.touch();
  }

  /** Another run. */
  restart() {
    const run = /** @type {MeetRun|null} */ (this.session?.run ?? null);
    this.lane = run && new Lane(run);
    this.#shape = '';
    this.#learnt = 0;
    this.#now = -1;
    this.#follow = true;
    this.#pointed = null;
    if (this.scroller) this.scroller.scrollTop = 0;
  }

  update() {
    const { session, lane } = this;
    if (!session?.run || this.hidden || !this.scroller || !lane || lane.run !== session.run) return;
    this.#learn(lane);
    this.#plan();
    const { selection } = session;
    this.heads?.update(lane.run, selection.arrow === undefined ? selection.node : null, this.#tabled());
    setAttr(this.tabler, 'aria-pressed', String(this.#tabled()));
    this.#keepUp();
    this.#draw(lane);
    this.empty.hidden = lane.run.arrows.length > 0;
    // The list is not read while the picture moves, unless it is in use.
    clearTimeout(this.#listing);
    const list = () => {
      // Another run may have taken its place in the meantime.
      if (this.lane === lane && !lane.run.freed) this.list?.update(lane.run, lane.sight(this.#lookOf(lane)), selection.arrow ?? null);
    };
    if (document.activeElement === this.list?.node || this.list?.node.childElementCount === 0) list();
    else this.#listing = window.setTimeout(list, LEARN_MS);
  }

  /** Takes up what has become known, but not at every frame. @param {Lane} lane */
  #learn(lane) {
    const known = lane.run.explored;
    if (!known) this.session?.clock.touch();
    if (!known && this.#learnt && performance.now() - this.#learnt < LEARN_MS) return;
    this.#learnt = performance.now();
    lane.run.refresh();
    lane.refresh();
  }

  #plan() {
    const { lane } = this;
    const shape = `${lane?.run.edition}|${this.fold}|${this.zoom}`;
    if (!lane || shape === this.#shape) return;
    this.#shape = shape;
    // More is known: the present has moved on the picture.
    if (this.#follow) this.#now = -1;
    const instants = [...new Set(lane.run.instants())].sort((a, b) => a - b);
    const how = { kind: /** @type {const} */ ('real'), flight: lane.run.flight };
    this.axis = new Axis(instants, { ...how, zoom: ZOOMS[this.zoom], fold: this.fold });
    // The clock goes along the folded time, whatever is shown: silence passes quickly.
    this.pace = new Axis(instants, { ...how, zoom: 1, fold: true });
    this.room.style.height = `${Math.ceil(this.axis.height)}px`;
    setAttr(this.folds, 'aria-pressed', String(this.fold));
    for (const button of this.bar?.querySelectorAll('[data-zoom]') ?? []) button.disabled = this.zoom === (button.dataset.zoom === '1' ? ZOOMS.length - 1 : 0);
  }

  /** The present stays in sight. */
  #keepUp() {
    const session = /** @type {Session} */ (this.session);
    const now = session.run?.now ?? 0;
    if (now === this.#now) return;
    const first = this.#now < 0;
    this.#now = now;
    const { scrollTop, clientHeight } = this.scroller;
    const y = this.axis.of(now);
    if (session.clock.playing) {
      if (this.#follow) this.scroller.scrollTop = stillness() ? Math.floor(y / clientHeight + 0.15) * clientHeight - clientHeight * 0.15 : y - clientHeight * PRESENT;
    } else if (y < scrollTop + clientHeight * 0.12 || y > scrollTop + clientHeight * 0.9) {
      this.#follow = true;
      this.scroller.scrollTo({ top: y - clientHeight / 2, behavior: first || stillness() ? 'instant' : 'smooth' });
    }
  }

  /** @param {Lane} lane @returns {import('./lane.js').Look} */
  #lookOf(lane) {
    const { selection, run, sought } = /** @type {Session} */ (this.session);
    return {
      top: this.scroller.scrollTop, height: this.scroller.clientHeight, axis: this.axis, now: run?.now ?? 0, still: stillness(),
      colours: this.colours ??= palette(this), selected: selection.arrow ?? null, pointed: this.#pointed, found: sought.in(lane.run),
    };
  }

  /** @param {Lane} lane */
  #draw(lane) {
    const { canvas, scroller } = this;
    if (!canvas) return;
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    const scale = Math.min(2, devicePixelRatio || 1);
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const ctx = canvas.getContext('2d');
    if (!ctx || width === 0) return;
    const look = this.#lookOf(lane);
    lane.lay(look.colours.gutter, width - look.colours.gutter);
    // The cards stand above their lines.
    this.style.setProperty('--gutter', `${look.colours.gutter}px`);
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.translate(0, -look.top);
    backdrop(ctx, { ...look, width, gutter: look.colours.gutter, lanes: [{ x: look.colours.gutter, width: width - look.colours.gutter }], origin: 0, logical: false });
    lane.paint(ctx, look);
  }

  /** The next arrow, or the one before; without one, the first that has not landed yet. @param {number} by */
  move(by) {
    const session = /** @type {Session} */ (this.session);
    const { arrows } = this.lane?.run ?? { arrows: [] };
    if (!arrows.length) return;
    const here = arrows.findIndex((a) => a.id === session.selection.arrow);
    const now = session.run?.now ?? 0;
    const open = arrows.findIndex((a) => Math.max(a.sent, a.at ?? a.due) >= now);
    const fresh = open < 0 ? arrows.length - 1 : open;
    this.#select(arrows[by === -Infinity ? 0 : by === Infinity ? arrows.length - 1 : here < 0 ? fresh : Math.min(arrows.length - 1, Math.max(0, here + by))]);
  }

  reveal() { if (this.session?.selection.arrow !== undefined) this.move(0); }

  /** @param {number} id */
  choose(id) {
    const arrow = this.lane?.run.arrow(id);
    if (arrow) this.#select(arrow);
  }

  /** @param {T.MeetArrow} arrow */
  #select(arrow) {
    const { lane, scroller } = this;
    if (!lane) return;
    this.session?.select(selectionOf(arrow, lane.run));
    // The list lies over the picture while it is used.
    const clientHeight = scroller.clientHeight - (document.activeElement === this.list?.node ? this.list.node.offsetHeight : 0);
    const { y0, y1 } = lane.line(arrow, this.axis);
    if (y0 < scroller.scrollTop + 8 || y1 > scroller.scrollTop + clientHeight - 24) scroller.scrollTo({ top: (y0 + y1) / 2 - clientHeight / 2, behavior: stillness() ? 'instant' : 'smooth' });
  }

  /** @param {number} id */
  #selectNode(id) {
    const { selection } = /** @type {Session} */ (this.session);
    const same = selection.node === id && selection.arrow === undefined;
    this.session?.select(same ? { node: null, ticket: null, name: '' } : { node: id, ticket: null, name: this.lane?.run.node(id)?.name ?? '' });
  }

  /** What the pointer does: point, choose, open the menu. */
  #point() {
    const { canvas } = this;
    const hit = (/** @type {MouseEvent} */ event) => {
      const { left, top } = this.scroller.getBoundingClientRect();
      const [x, y] = [event.clientX - left, event.clientY - top + this.scroller.scrollTop];
      return { x, y, arrow: this.lane?.near(x, y, this.#lookOf(this.lane)) ?? null };
    };
    canvas?.addEventListener('pointermove', (event) => {
      const { arrow } = hit(event);
      if ((arrow?.id ?? null) === this.#pointed) return;
      this.#pointed = arrow?.id ?? null;
      canvas.style.cursor = arrow ? 'pointer' : '';
      canvas.title = arrow && this.lane ? sentence(arrow, this.lane.run) : '';
      this.session?.clock.touch();
    });
    canvas?.addEventListener('pointerleave', () => { this.#pointed = null; this.session?.clock.touch(); });
    canvas?.addEventListener('click', (event) => {
      const { arrow, x, y } = hit(event);
      const { session } = this;
      if (arrow) this.#select(arrow);
      else if (session && x < (this.colours?.gutter ?? 0)) {
        session.clock.pause();
        session.clock.seek(this.axis.to(y));
      } else session?.select({ node: null, ticket: null, name: '' });
    });
    canvas?.addEventListener('contextmenu', (event) => {
      const { arrow } = hit(event);
      const { session } = this;
      if (!arrow || !session) return;
      event.preventDefault();
      this.#select(arrow);
      const { selection } = session;
      openMenu(canvas, selection.name, gesturesOf(session).map(({ gesture, text, key }) => ({ text, key, run: () => session.actions.gesture(gesture, selection) })));
    });
    // A person who looks elsewhere is not dragged back.
    for (const type of ['wheel', 'touchmove']) this.scroller.addEventListener(type, () => { this.#follow = false; }, { passive: true });
  }
}

customElements.define('meet-pane', MeetPane);
