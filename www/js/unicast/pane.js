/** `<unicast-pane>`: one unicast, or two beside each other on one clock. */
import { el, icon, setAttr, setText, stillness } from '#lab/dom.js';
import { openMenu } from '#lab/panels/menu.js';
import { t } from '#lab/strings.js';
import { backdrop } from '#lab/ladder/backdrop.js';
import { LadderPane } from '#lab/ladder/pane.js';
import { Head, titleOf } from '#lab/unicast/heads.js';
import { Lane } from '#lab/unicast/lane.js';
import { palette } from '#lab/unicast/look.js';
import { gesturesOf, selectionOf } from '#lab/unicast/gestures.js';
import { FlowPanel } from '#lab/unicast/panel.js';
import { legend } from '#lab/unicast/signs.js';
import { sentence } from '#lab/unicast/words.js';

/** @import * as T from './types' */
/** @import { UnicastRun } from './run.js' */
/** @import { Session } from '../session/session.js' */

/** A narrower picture shows one unicast of two. */
const BOTH_PX = 620;

export class UnicastPane extends LadderPane {
  /** @type {Lane[]} */ lanes = [];
  /** @override */ zooms = [0.125, 0.25, 0.5, 1, 2, 4];
  /** @override */ zoom = 3;
  /** The unicast that is shown where there is room for one. */
  shown = 0;
  /** Whether the lines of the flows are shown; else where their controllers differ. @type {boolean|null} */ lines = null;
  /** @type {number|null} */ #pointed = null;

  /** @override */
  runs() { return this.lanes; }

  /** @param {Session} session */
  connect(session) {
    this.tools = el('div', { class: 'arrow-tools', role: 'group', hidden: true });
    const body = this.frame(session, { name: 'unicast', picture: t('unicast.picture'), empty: t('unicast.empty'), over: [this.tools] }, sentence);
    this.heads = [0, 1].map((i) => new Head(session, (node) => this.#selectNode(i, node)));
    this.panels = [0, 1].map(() => new FlowPanel(session));
    this.flows = el('div', { class: 'unicast-flows', hidden: true }, ...this.panels.map((panel) => panel.node));
    this.bar = this.#bar();
    this.replaceChildren(this.bar, this.tabs, el('div', { class: 'unicast-heads' }, ...this.heads.map((h) => h.node)), this.flows, body, legend());
    this.#point();
  }
  /** @override */
  repaint() { this.colours = undefined; }

  #bar() {
    const choice = (/** @type {import('../ladder/axis.js').Kind} */ kind) => el('button', { class: 'button small', type: 'button', data: { axis: kind }, text: t(`axis.${kind}`), title: t(`axis.${kind}.long`), on: { click: () => this.look({ kind }) } });
    this.axes = el('div', { class: 'segmented', role: 'group', 'aria-label': t('axis.label') }, choice('real'), choice('logical'));
    this.tabs = el('div', { class: 'segmented unicast-tabs', role: 'group', 'aria-label': t('unicast.which') }, ...[0, 1].map((i) => el('button', { class: 'button small', type: 'button', data: { lane: i }, on: { click: () => this.look({ shown: i }) } })));
    this.toggle = el('button', { class: 'button small', type: 'button', hidden: true, data: { lines: '' }, text: t('flows.show'), title: t('flows.show.long'), on: { click: () => this.look({ lines: !this.#lined() }) } });
    return el('div', { class: 'unicast-bar' }, this.axes, ...this.axisButtons(), this.toggle);
  }

  /** Another run, or another way to look at it. */
  restart() {
    const runs = /** @type {UnicastRun[]} */ (this.session?.runs() ?? []);
    this.lanes = runs.map((run) => new Lane(run));
    this.#pointed = null;
    this.lines = null;
    this.begin();
  }

  update() {
    const { session } = this;
    if (!session?.run || this.hidden || !this.scroller || this.lanes[0]?.run !== session.run) return;
    this.learn();
    this.plan();
    this.#showFlows();
    this.keepUp();
    this.#draw();
    this.#showTools();
    this.#showWords();
  }

  /** @override */
  planned() {
    for (const button of this.axes.children) setAttr(button, 'aria-pressed', String(button.dataset.axis === this.kind));
    this.folds.hidden = this.kind === 'logical';
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
    const { width, height, scale } = this.fit();
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

  /** Whether the lines of the flows are shown. */
  #lined() { return this.lines ?? this.lanes.some(({ flows }) => flows?.mixed); }

  /** The flows that share a line, above the arrows. */
  #showFlows() {
    const both = this.#both();
    const any = this.lanes.some(({ flows }) => flows?.any);
    this.toggle.hidden = !any;
    setAttr(this.toggle, 'aria-pressed', String(this.#lined()));
    this.flows.hidden = !any || !this.#lined();
    if (this.flows.hidden) return;
    const colours = this.colours ??= palette(this);
    const end = Math.max(...this.lanes.map(({ run }) => run.end));
    this.panels?.forEach((panel, i) => {
      const lane = this.lanes[i];
      panel.node.hidden = !lane || !both.includes(lane) || !lane.flows?.any;
    });
    this.panels?.forEach((panel, i) => { if (!panel.node.hidden) panel.update(this.lanes[i], colours, end); });
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
      setText(tab, this.lanes[i] ? titleOf(this.lanes[i].run) : '');
      setAttr(tab, 'aria-pressed', String(i === this.shown));
    });
    const lane = this.#current();
    this.empty.hidden = this.lanes.some(({ run }) => run.arrows.length > 0);
    this.listSoon(() => this.list?.update(lane.run, lane.sight(this.#lookOf(lane)), selection.lane === this.lanes.indexOf(lane) ? selection.arrow ?? null : null));
  }

  /** The unicast keys go along: the one of the selection, or the first that is shown. */
  #current() {
    const lane = this.lanes[this.session?.selection.lane ?? -1];
    const both = this.#both();
    return lane && both.includes(lane) ? lane : both[0];
  }

  /** The next arrow, or the one before; without one, the first that has not landed yet. @param {number} by @override */
  move(by) {
    const lane = this.#current();
    const { arrows } = lane.run;
    if (arrows.length) this.#select(lane, this.step(arrows, by));
  }

  /** @param {number} id @override */
  choose(id) {
    const lane = this.#current();
    const arrow = lane.run.arrow(id);
    if (arrow) this.#select(lane, arrow);
  }

  /** @param {Lane} lane @param {T.Arrow} arrow */
  #select(lane, arrow) {
    this.session?.select(selectionOf(arrow, lane.run, this.lanes.indexOf(lane)));
    this.bring(lane.line(arrow, this.axis));
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
      const [x, y] = this.spot(event);
      for (const lane of this.#both()) {
        const arrow = x >= lane.x && x < lane.x + lane.width ? lane.near(x, y, this.#lookOf(lane)) : null;
        if (arrow) return { lane, arrow, x, y };
      }
      return { lane: null, arrow: null, x, y };
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
      const { lane, arrow, x, y } = hit(event);
      if (lane && arrow) this.#select(lane, arrow);
      else if (x < lanesStart(this.lanes)) this.seek(y);
      else this.session?.select({ node: null, ticket: null, name: '' });
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
