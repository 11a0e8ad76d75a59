/** `<unicast-pane>`: one unicast, or two beside each other on one clock. */
import { el, icon, setAttr, setText, stillness } from '#lab/dom.js';
import { openMenu } from '#lab/panels/menu.js';
import { onColours } from '#lab/theme.js';
import { t } from '#lab/strings.js';
import { Axis } from '#lab/unicast/axis.js';
import { backdrop } from '#lab/unicast/backdrop.js';
import { Head } from '#lab/unicast/heads.js';
import { Lane } from '#lab/unicast/lane.js';
import { ArrowList } from '#lab/unicast/list.js';
import { palette } from '#lab/unicast/look.js';
import { gesturesOf, selectionOf } from '#lab/unicast/gestures.js';
import { legend } from '#lab/unicast/signs.js';

/** @import * as T from './types' */
/** @import { UnicastRun } from './run.js' */
/** @import { Session } from '../session/session.js' */

const ZOOMS = [0.125, 0.25, 0.5, 1, 2, 4];
/** While the future is still being found out the picture is made anew this often, in milliseconds. */
const LEARN_MS = 200;
/** Where on the picture the present stands while it plays. */
const PRESENT = 0.62;
/** A narrower picture shows one unicast of two. */
const BOTH_PX = 620;

export class UnicastPane extends HTMLElement {
  /** @type {Lane[]} */ lanes = [];
  kind = /** @type {import('./axis.js').Kind} */ ('real');
  fold = true;
  zoom = 3;
  /** The unicast that is shown where there is room for one. */
  shown = 0;
  axis = new Axis([0], { kind: 'real', fold: true, zoom: 1, flight: 20_000 });
  #shape = '';
  #learnt = 0;
  #follow = true;
  #now = -1;
  /** @type {number|null} */ #pointed = null;

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    const redraw = () => session.clock.touch();
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { 'aria-hidden': 'true' }));
    this.tools = el('div', { class: 'arrow-tools', role: 'group', hidden: true });
    this.room = el('div', { class: 'unicast-room' }, this.canvas, this.tools);
    this.scroller = el('div', { class: 'unicast-scroll', role: 'group', tabindex: '0', 'aria-label': t('unicast.picture'), on: { scroll: redraw } }, this.room);
    this.empty = el('p', { class: 'unicast-empty', text: t('unicast.empty') });
    this.list = new ArrowList((by) => this.move(by), (id) => this.choose(id));
    this.heads = [0, 1].map((i) => new Head(session, (node) => this.#selectNode(i, node)));
    this.bar = this.#bar();
    this.replaceChildren(this.bar, this.tabs, el('div', { class: 'unicast-heads' }, ...this.heads.map((h) => h.node)), el('div', { class: 'unicast-body' }, this.scroller, this.empty, this.list.node), legend());
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
    const choice = (/** @type {import('./axis.js').Kind} */ kind) => el('button', { class: 'button small', type: 'button', data: { axis: kind }, text: t(`axis.${kind}`), title: t(`axis.${kind}.long`), on: { click: () => this.#look({ kind }) } });
    const zoom = (/** @type {number} */ by, /** @type {string} */ sign) => el('button', { class: 'button small icon plain', type: 'button', data: { zoom: by }, 'aria-label': t(`zoom.${by}`), title: t(`zoom.${by}`), on: { click: () => this.#look({ zoom: Math.min(ZOOMS.length - 1, Math.max(0, this.zoom + by)) }) } }, sign);
    this.axes = el('div', { class: 'segmented', role: 'group', 'aria-label': t('axis.label') }, choice('real'), choice('logical'));
    this.tabs = el('div', { class: 'segmented unicast-tabs', role: 'group', 'aria-label': t('unicast.which') }, ...[0, 1].map((i) => el('button', { class: 'button small', type: 'button', data: { lane: i }, on: { click: () => this.#look({ shown: i }) } })));
    this.folds = el('button', { class: 'button small', type: 'button', data: { fold: '' }, text: t('axis.fold'), title: t('axis.fold.long'), on: { click: () => this.#look({ fold: !this.fold }) } });
    return el('div', { class: 'unicast-bar' }, this.axes, this.folds, el('div', { class: 'zoom', role: 'group', 'aria-label': t('zoom.label') }, zoom(-1, '−'), zoom(1, '+')));
  }

  /** Looks another way; the moment in the middle stays there. @param {Partial<{kind: import('./axis.js').Kind, fold: boolean, zoom: number, shown: number}>} how */
  #look(how) {
    const middle = this.scroller.scrollTop + this.scroller.clientHeight / 2;
    const at = this.axis.to(middle);
    Object.assign(this, how);
    this.#plan();
    this.scroller.scrollTop = this.axis.of(at) - this.scroller.clientHeight / 2;
    this.session?.clock.touch();
  }

  /** Another run, or another way to look at it. */
  restart() {
    const runs = /** @type {UnicastRun[]} */ (this.session?.runs() ?? []);
    this.lanes = runs.map((run) => new Lane(run));
    this.#shape = '';
    this.#learnt = 0;
    this.#now = -1;
    this.#follow = true;
    this.#pointed = null;
    if (this.scroller) this.scroller.scrollTop = 0;
  }

  update() {
    const { session } = this;
    if (!session?.run || this.hidden || !this.scroller || this.lanes[0]?.run !== session.run) return;
    this.#learn();
    this.#plan();
    this.#keepUp();
    this.#draw();
    this.#showTools();
    this.#showWords();
  }

  /** Takes up what has become known, but not at every frame. */
  #learn() {
    const known = this.lanes.every(({ run }) => run.explored);
    if (!known) this.session?.clock.touch();
    if (!known && this.#learnt && performance.now() - this.#learnt < LEARN_MS) return;
    this.#learnt = performance.now();
    for (const lane of this.lanes) {
      lane.run.refresh();
      lane.refresh();
    }
  }

  /** The axis, shared by all pictures. */
  #plan() {
    const shape = `${this.lanes.map(({ run }) => run.edition).join()}|${this.kind}|${this.fold}|${this.zoom}`;
    if (shape === this.#shape) return;
    this.#shape = shape;
    const instants = [...new Set(this.lanes.flatMap(({ run }) => run.instants()))].sort((a, b) => a - b);
    const how = { zoom: ZOOMS[this.zoom], flight: Math.min(...this.lanes.map(({ run }) => run.flight)) };
    this.axis = new Axis(instants, { ...how, kind: this.kind, fold: this.fold });
    // The clock goes along the folded real time, whatever is shown: silence passes quickly.
    this.pace = new Axis(instants, { ...how, zoom: 1, kind: 'real', fold: true });
    this.room.style.height = `${Math.ceil(this.axis.height)}px`;
    for (const button of this.axes.children) setAttr(button, 'aria-pressed', String(button.dataset.axis === this.kind));
    this.folds.hidden = this.kind === 'logical';
    setAttr(this.folds, 'aria-pressed', String(this.fold));
    for (const button of this.bar.querySelectorAll('[data-zoom]')) button.disabled = this.zoom === (button.dataset.zoom === '1' ? ZOOMS.length - 1 : 0);
  }
  /** @type {Axis|null} */ pace = null;

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

  /** @returns {Lane[]} those that are shown */
  #both() {
    if (this.lanes.length < 2 || this.clientWidth >= BOTH_PX) return this.lanes;
    return [this.lanes[this.shown]];
  }

  /** @param {Lane} lane @returns {import('./lane.js').Look} */
  #lookOf(lane) {
    const { selection, run, sought } = /** @type {Session} */ (this.session);
    const mine = (selection.lane ?? 0) === this.lanes.indexOf(lane);
    return {
      top: this.scroller.scrollTop, height: this.scroller.clientHeight, axis: this.axis, now: run?.now ?? 0, still: stillness(),
      colours: this.colours ??= palette(this), selected: mine ? selection.arrow ?? null : null, pointed: this.#pointedIn === lane ? this.#pointed : null,
      found: sought.in(lane.run),
    };
  }
  /** @type {import('./look.js').Palette|undefined} */ colours = undefined;
  /** @type {Lane|null} */ #pointedIn = null;

  #draw() {
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
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    ctx.setTransform(scale, 0, 0, scale, 0, -scroller.scrollTop * scale);
    const lanes = this.#both();
    const { gutter } = this.colours ??= palette(this);
    const wide = (width - gutter) / lanes.length;
    lanes.forEach((lane, i) => lane.lay(gutter + i * wide, wide));
    const look = this.#lookOf(lanes[0]);
    ctx.clearRect(0, look.top, width, height);
    backdrop(ctx, { ...look, width, gutter, lanes, origin: lanes[0].run.origin, logical: this.kind === 'logical' });
    for (const lane of lanes) lane.paint(ctx, this.#lookOf(lane));
  }

  /** Heads, tabs, and the list beside the picture. */
  #showWords() {
    const session = /** @type {Session} */ (this.session);
    const both = this.#both();
    const { selection } = session;
    this.heads?.forEach((head, i) => {
      const lane = this.lanes[i];
      head.node.hidden = !lane || !both.includes(lane);
      if (lane && !head.node.hidden) head.update(lane, selection.arrow === undefined && (selection.lane ?? 0) === i ? selection.node : null, this.lanes.length === 1);
    });
    this.tabs.hidden = both.length === this.lanes.length;
    [...this.tabs.children].forEach((tab, i) => {
      setText(tab, this.lanes[i] ? this.lanes[i].run.side || t(`profile.${this.lanes[i].run.profile}`) : '');
      setAttr(tab, 'aria-pressed', String(i === this.shown));
    });
    const lane = this.#current();
    this.empty.hidden = this.lanes.some(({ run }) => run.arrows.length > 0);
    // The list is not read while the picture moves, unless it is in use.
    clearTimeout(this.#listing);
    const list = () => this.list?.update(lane.run, lane.sight(this.#lookOf(lane)), selection.lane === this.lanes.indexOf(lane) ? selection.arrow ?? null : null);
    if (document.activeElement === this.list?.node || this.list?.node.childElementCount === 0) list();
    else this.#listing = window.setTimeout(list, LEARN_MS);
  }
  #listing = 0;

  /** The unicast keys go along: the one of the selection, or the first that is shown. */
  #current() {
    const lane = this.lanes[this.session?.selection.lane ?? -1];
    const both = this.#both();
    return lane && both.includes(lane) ? lane : both[0];
  }

  /** The next arrow, or the one before; without one, the first that has not landed yet. @param {number} by */
  move(by) {
    const session = /** @type {Session} */ (this.session);
    const lane = this.#current();
    const { arrows } = lane.run;
    if (!arrows.length) return;
    const here = arrows.findIndex((a) => a.id === session.selection.arrow);
    const now = session.run?.now ?? 0;
    const open = arrows.findIndex((a) => Math.max(a.sent, a.at ?? a.due) >= now);
    const fresh = open < 0 ? arrows.length - 1 : open;
    const to = by === -Infinity ? 0 : by === Infinity ? arrows.length - 1 : here < 0 ? fresh : Math.min(arrows.length - 1, Math.max(0, here + by));
    this.#select(lane, arrows[to]);
  }

  reveal() { if (this.session?.selection.arrow !== undefined) this.move(0); }

  /** @param {number} id */
  choose(id) {
    const lane = this.#current();
    const arrow = lane.run.arrow(id);
    if (arrow) this.#select(lane, arrow);
  }

  /** @param {Lane} lane @param {T.Arrow} arrow */
  #select(lane, arrow) {
    this.session?.select(selectionOf(arrow, lane.run, this.lanes.indexOf(lane)));
    const { scrollTop } = this.scroller;
    // The list lies over the picture while it is used.
    const clientHeight = this.scroller.clientHeight - (document.activeElement === this.list?.node ? this.list.node.offsetHeight : 0);
    const { y0, y1 } = lane.line(arrow, this.axis);
    if (y0 < scrollTop + 8 || y1 > scrollTop + clientHeight - 24) this.scroller.scrollTo({ top: (y0 + y1) / 2 - clientHeight / 2, behavior: stillness() ? 'instant' : 'smooth' });
  }

  /** @param {number} i @param {number} id */
  #selectNode(i, id) {
    const run = this.lanes[i]?.run;
    const same = this.session?.selection.node === id && this.session.selection.lane === i && this.session.selection.arrow === undefined;
    this.session?.select(same || !run ? { node: null, ticket: null, name: '' } : { node: id, ticket: null, name: run.node(id)?.name ?? '', lane: i });
  }

  /** What the pointer does: point, choose, open the menu. */
  #point() {
    const hit = (/** @type {MouseEvent} */ event) => {
      const { left, top } = this.scroller.getBoundingClientRect();
      const [x, y] = [event.clientX - left, event.clientY - top + this.scroller.scrollTop];
      for (const lane of this.#both()) {
        const arrow = x >= lane.x && x < lane.x + lane.width ? lane.near(x, y, this.#lookOf(lane)) : null;
        if (arrow) return { lane, arrow, y };
      }
      return { lane: null, arrow: null, y };
    };
    const { canvas } = this;
    canvas?.addEventListener('pointermove', (event) => {
      const { lane, arrow } = hit(event);
      if ((arrow?.id ?? null) === this.#pointed && lane === this.#pointedIn) return;
      [this.#pointed, this.#pointedIn] = [arrow?.id ?? null, lane];
      canvas.style.cursor = arrow ? 'pointer' : '';
      this.session?.clock.touch();
    });
    canvas?.addEventListener('pointerleave', () => { this.#pointed = null; this.session?.clock.touch(); });
    canvas?.addEventListener('click', (event) => {
      const { lane, arrow, y } = hit(event);
      const { session } = this;
      if (lane && arrow) this.#select(lane, arrow);
      else if (session && event.clientX - this.scroller.getBoundingClientRect().left < lanesStart(this.lanes)) {
        session.clock.pause();
        session.clock.seek(this.axis.to(y));
      } else session?.select({ node: null, ticket: null, name: '' });
    });
    canvas?.addEventListener('contextmenu', (event) => {
      const { lane, arrow } = hit(event);
      const { session } = this;
      if (!lane || !arrow || !session) return;
      event.preventDefault();
      this.#select(lane, arrow);
      this.#showTools();
      const { selection } = session;
      openMenu(this.tools, selection.name, gesturesOf(session).map(({ gesture, text, key }) => ({ text, key, run: () => session.actions.gesture(gesture, selection) })));
    });
    // A person who looks elsewhere is not dragged back.
    for (const type of ['wheel', 'touchmove']) this.scroller.addEventListener(type, () => { this.#follow = false; }, { passive: true });
  }

  /** Beside the selected arrow, what can be done to it. */
  #showTools() {
    const session = /** @type {Session} */ (this.session);
    const { selection } = session;
    const lane = this.lanes[selection.lane ?? 0];
    const arrow = selection.arrow === undefined || !this.#both().includes(lane) ? undefined : lane.run.arrow(selection.arrow);
    const gestures = arrow ? gesturesOf(session) : [];
    this.tools.hidden = gestures.length === 0;
    if (!arrow || !gestures.length) return;
    const shape = `${selection.ticket}|${selection.lane}`;
    if (this.tools.dataset.of !== shape) {
      this.tools.dataset.of = shape;
      setAttr(this.tools, 'aria-label', t('gesture.group', { name: selection.name }));
      this.tools.replaceChildren(...gestures.map(({ gesture, text, key }) => el('button', { class: 'button small', type: 'button', data: { gesture }, title: key, on: { click: () => session.actions.gesture(gesture) } }, icon(gesture === 'drop' ? 'cross' : gesture === 'delay' ? 'hourglass' : 'twice'), text)));
    }
    const { x0, y0, x1, y1 } = lane.line(arrow, this.axis);
    const wide = this.tools.offsetWidth;
    const x = Math.min(lane.x + lane.width - wide - 4, Math.max(lane.x + 4, (x0 + x1) / 2 - wide / 2));
    this.tools.style.translate = `${Math.round(x)}px ${Math.round(Math.max(y0, y1) + 10)}px`;
  }
}

/** Left of it stands the time. @param {Lane[]} lanes */
const lanesStart = (lanes) => Math.min(...lanes.map((lane) => lane.x));

customElements.define('unicast-pane', UnicastPane);
