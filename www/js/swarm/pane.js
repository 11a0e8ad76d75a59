/** `<swarm-pane>`: one swarm as a swarm, or two beside each other on one clock. */
import { announce, el, setAttr, setText } from '#lab/dom.js';
import { density, onColours } from '#lab/theme.js';
import { t } from '#lab/strings.js';
import { clientOf, selectionOf } from '#lab/swarm/gestures.js';
import { Head } from '#lab/swarm/head.js';
import { Lane } from '#lab/swarm/lane.js';
import { palette } from '#lab/swarm/look.js';
import { point } from '#lab/swarm/point.js';
import { ROWS, fitting, roomFor, zoomed } from '#lab/swarm/room.js';
import { SOURCE } from '#lab/swarm/grid.js';
import { legend } from '#lab/swarm/signs.js';
import { stillOf } from '#lab/swarm/still.js';
import { SwarmTable } from '#lab/swarm/table.js';
import { sentence } from '#lab/swarm/words.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Place } from './grid.js' */
/** @import { Session } from '../session/session.js' */

/** While the future is still being found out, curves and words are made anew this often, in milliseconds. */
const LEARN_MS = 200;
/** So many rows are a crowd, and it is read this often while it moves, in milliseconds. */
const [CROWD, CROWD_MS] = [200, 30];
/** A narrower picture shows one swarm of two. */
const BOTH_PX = 560;

export class SwarmPane extends HTMLElement {
  /** @type {Lane[]} */ lanes = [];
  /** Height of rows, in the list of heights; none before there is a picture to fit them into. */
  tall = -1;
  /** How much wider than they need be the columns are. */
  wide = 1;
  /** The swarm that is shown where there is room for one. */
  shown = 0;
  /** The cell of the keyboard. @type {Place|null} */ cursor = null;
  /** @type {Place|null} */ pointed = null;
  asTable = false;
  #learnt = 0;
  /** Where the pointer is. @type {Lane|null} */ in = null;

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    const redraw = () => session.clock.touch();
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { 'aria-hidden': 'true' }));
    this.anchor = el('span', { class: 'swarm-anchor', 'aria-hidden': 'true' });
    this.room = el('div', { class: 'swarm-room' }, this.canvas, this.anchor);
    this.scroller = el('div', { class: 'swarm-scroll', role: 'group', tabindex: '0', 'aria-label': t('swarm.picture'), on: { scroll: redraw, keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e), focus: redraw, blur: redraw } }, this.room);
    this.tip = el('p', { class: 'swarm-tip', 'aria-hidden': 'true', hidden: true });
    this.still = el('div', { class: 'swarm-still' });
    this.table = new SwarmTable((row) => this.choose(this.#current(), { row, piece: null }), redraw);
    this.heads = [new Head(session), new Head(session)];
    this.bar = this.#bar();
    this.body = el('div', { class: 'swarm-body' }, this.scroller, this.table.node, this.still, this.tip);
    this.replaceChildren(this.bar, el('div', { class: 'swarm-heads' }, ...this.heads.map((h) => h.node)), this.body, legend());
    point(this);
    const repaint = () => {
      this.colours = undefined;
      redraw();
    };
    session.addEventListener('theme', repaint);
    session.addEventListener('faults', () => { this.#learnt = 0; });
    onColours(repaint);
    new ResizeObserver(redraw).observe(this);
  }

  #bar() {
    const zoom = (/** @type {'column'|'row'} */ of, /** @type {number} */ by, /** @type {string} */ sign) => el('button', { class: 'button small icon plain', type: 'button', data: { zoom: `${of}.${by}` }, 'aria-label': t(`zoom.${of}.${by}`), title: t(`zoom.${of}.${by}`), on: { click: () => this.#zoom(of, by) } }, sign);
    const group = (/** @type {'column'|'row'} */ of) => el('div', { class: 'zoom', role: 'group', 'aria-label': t(`zoom.${of}`) }, el('span', { 'aria-hidden': 'true', text: t(`zoom.${of}`) }), zoom(of, -1, '−'), zoom(of, 1, '+'));
    this.tabs = el('div', { class: 'segmented swarm-tabs', role: 'group', 'aria-label': t('swarm.which') }, ...[0, 1].map((i) => el('button', { class: 'button small', type: 'button', data: { lane: i }, on: { click: () => { this.shown = i; this.session?.clock.touch(); } } })));
    this.words = el('button', { class: 'button small', type: 'button', data: { table: '' }, 'aria-pressed': 'false', text: t('swarm.table'), title: t('swarm.table.long'), on: { click: () => { this.asTable = !this.asTable; this.session?.clock.touch(); } } });
    return el('div', { class: 'swarm-bar' }, this.tabs, this.words, el('span', { class: 'spring' }), group('column'), group('row'));
  }

  /** The cell in the middle stays there. @param {'column'|'row'} of @param {number} by */
  #zoom(of, by) {
    const before = this.#current().grid;
    const { scrollTop, scrollLeft, clientHeight } = this.scroller;
    const down = (scrollTop + (clientHeight - before.body) / 2) / before.row;
    const across = (scrollLeft + before.wide / 2) / before.column;
    if (of === 'row') this.tall = Math.min(ROWS.length - 1, Math.max(0, this.tall + by));
    else this.wide = zoomed(this.wide, by, before);
    this.#lay();
    const after = this.#current().grid;
    this.scroller.scrollTop = down * after.row - (clientHeight - after.body) / 2;
    this.scroller.scrollLeft = across * after.column - after.wide / 2;
    this.session?.clock.touch();
  }

  /** Another run, or another way to look at it. */
  restart() {
    const runs = /** @type {SwarmRun[]} */ (this.session?.runs() ?? []);
    const rows = runs[0]?.rows.length ?? 0;
    const other = rows !== this.lanes[0]?.run.rows.length;
    this.lanes = runs.map((run) => new Lane(run));
    this.#learnt = this.#readAt = 0;
    this.cursor = this.pointed = this.in = null;
    if (!other || !this.scroller) return;
    this.tall = -1;
    this.wide = 1;
    if (this.table) this.table.from = 0;
    this.scroller.scrollTo({ top: 0, left: 0 });
  }

  update() {
    const { session } = this;
    if (!session?.run || this.hidden || !this.scroller || this.lanes[0]?.run !== session.run) return;
    const read = this.#read();
    const words = this.#learn();
    this.#lay();
    this.#draw(read);
    this.#showWords(words);
  }

  /** Reads the moment; of a crowd that moves not at every frame, for no eye could follow. True when it was read. */
  #read() {
    const now = performance.now();
    const crowd = this.session?.clock.playing && this.lanes[0].run.rows.length > CROWD;
    if (crowd && now - this.#readAt < CROWD_MS) return false;
    this.#readAt = now;
    for (const { run } of this.lanes) run.refresh();
    return true;
  }
  #readAt = 0;

  /** Takes up what has become known, but not at every frame; true when words may change. */
  #learn() {
    const known = this.lanes.every(({ run }) => run.explored);
    const due = performance.now() - this.#learnt >= LEARN_MS;
    if (!known) this.session?.clock.touch();
    if (!due && this.#learnt && (this.session?.clock.playing || !known)) return false;
    this.#learnt = performance.now();
    for (const { run } of this.lanes) run.learn();
    return true;
  }

  /** @returns {Lane[]} those that are shown */
  both() {
    if (this.lanes.length < 2 || this.clientWidth >= BOTH_PX) return this.lanes;
    return [this.lanes[Math.min(this.shown, this.lanes.length - 1)]];
  }

  /** The swarm keys go along: the one of the selection, or the first that is shown. */
  #current() {
    const lane = this.lanes[this.session?.selection.lane ?? -1];
    const both = this.both();
    return lane && both.includes(lane) ? lane : both[0];
  }

  #lay() {
    const { scroller } = this;
    const colours = this.colours ??= palette(this);
    const both = this.both();
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    const each = Math.floor(width / both.length);
    const room = { height, rows: Math.max(1, both[0].run.rows.length), rem: colours.rem };
    if (this.tall < 0) this.tall = fitting(room);
    const row = roomFor(this.tall, room);
    both.forEach((lane, i) => lane.lay({ x: i * each, width: each - (i < both.length - 1 ? 6 : 0), height, top: scroller.scrollTop, left: scroller.scrollLeft, row, zoom: this.wide, rem: colours.rem }));
    const down = Math.max(...both.map(({ grid }) => grid.overflow.down));
    const across = Math.max(...both.map(({ grid }) => grid.overflow.across));
    const size = `${Math.ceil(width + across)}|${Math.ceil(height + down)}`;
    if (size !== this.#size) {
      this.#size = size;
      this.room.style.width = across > 0 ? `${Math.ceil(width + across)}px` : '';
      this.room.style.height = down > 0 ? `${Math.ceil(height + down)}px` : '';
    }
  }
  #size = '';
  #look = '';
  /** @type {import('./look.js').Palette|undefined} */ colours = undefined;

  /** @param {boolean} moved whether the moment is another one; else only another look at it is drawn */
  #draw(moved) {
    const { canvas, scroller } = this;
    const colours = this.colours;
    if (!canvas || !colours) return;
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    const { selection: { node: chosen, transfer, lane: side }, sought } = /** @type {Session} */ (this.session);
    const look = JSON.stringify([width, height, scroller.scrollTop, scroller.scrollLeft, this.tall, this.wide, this.shown, this.cursor, this.pointed, this.in && this.lanes.indexOf(this.in), chosen, transfer, side, document.activeElement === scroller, colours, this.both().map(({ run }) => sought.in(run)?.edition)]);
    if (!moved && look === this.#look) return;
    this.#look = look;
    const scale = density();
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const { selection } = /** @type {Session} */ (this.session);
    const focused = document.activeElement === scroller;
    for (const lane of this.both()) {
      const mine = (selection.lane ?? 0) === this.lanes.indexOf(lane);
      const node = selection.node !== null && selection.node < lane.run.rows.length ? selection.node : selection.node === null ? null : SOURCE;
      // A client stands in both swarms, a transfer in one.
      lane.paint(ctx, { colours, found: sought.in(lane.run), selected: mine || selection.transfer === undefined ? node : null, transfer: mine ? selection.transfer ?? null : null, pointed: this.in === lane || (this.pointed && this.pointed.piece === null) ? this.pointed : null, cursor: focused && lane === this.#current() ? this.cursor : null });
    }
  }

  /** Heads, tabs, banners, and the table. @param {boolean} words */
  #showWords(words) {
    const session = /** @type {Session} */ (this.session);
    const both = this.both();
    const end = Math.min(session.clock.end, Math.max(...this.lanes.map(({ run }) => run.interest)));
    this.heads?.forEach((head, i) => {
      const lane = this.lanes[i];
      head.node.hidden = !lane || !both.includes(lane);
      if (lane && this.colours && !head.node.hidden) head.update(lane.run, this.colours, end, words || !session.clock.playing);
    });
    this.tabs.hidden = both.length === this.lanes.length;
    [...this.tabs.children].forEach((tab, i) => {
      setText(tab, this.lanes[i] ? this.lanes[i].run.side || t(`policy.${this.lanes[i].run.policy}`) : '');
      setAttr(tab, 'aria-pressed', String(i === this.shown));
    });
    setAttr(this.words, 'aria-pressed', String(this.asTable));
    setAttr(this.body, 'data-table', this.asTable ? '' : null);
    for (const button of this.bar.querySelectorAll('[data-zoom^="row"]')) button.disabled = this.tall === (button.dataset.zoom.endsWith('-1') ? 0 : ROWS.length - 1);
    stillOf(/** @type {HTMLElement} */ (this.still), both);
    if (this.pointed && this.in) setText(/** @type {Element} */ (this.tip), sentence(this.in.run, this.pointed));
    // The table is not read while the picture moves, unless it is shown.
    clearTimeout(this.#listing);
    const lane = this.#current();
    const list = () => this.table?.update(lane.run, session.selection.transfer === undefined ? session.selection.node : null, this.asTable);
    if (this.asTable && words) list();
    else this.#listing = window.setTimeout(list, LEARN_MS);
  }
  #listing = 0;

  /** The next client, or the one before. @param {number} by */
  move(by) {
    const session = /** @type {Session} */ (this.session);
    const lane = this.#current();
    const last = lane.run.rows.length - 1;
    const here = session.selection.node;
    const from = here === null ? -1 : here > last ? SOURCE : here;
    const row = here === null ? (by > 0 ? 0 : last) : Math.min(last, Math.max(SOURCE, from + by));
    this.choose(lane, { row, piece: null });
    this.#reveal(lane, { row, piece: null });
  }

  /** Selects what is at a place: the transfer of its cell, or its client. @param {Lane} lane @param {Place} place */
  choose(lane, { row, piece }) {
    const { session } = this;
    if (!session) return;
    const i = this.lanes.indexOf(lane);
    const { run } = lane;
    const flows = piece === null ? [] : run.transfers.filter((f) => f.piece === piece);
    const flow = flows.find((f) => f.taker === row) ?? flows.find((f) => f.giver === row);
    if (flow) {
      const selection = selectionOf(run, flow.id, i);
      if (selection) session.select(selection);
    } else if (row !== null) session.select(clientOf(run, row, i));
    else session.select({ node: null, ticket: null, name: '' });
  }

  reveal() {
    const { node = null, transfer } = this.session?.selection ?? {};
    const lane = this.#current();
    const flow = transfer === undefined ? undefined : lane.run.transfer(transfer);
    this.#reveal(lane, { row: flow?.taker ?? node, piece: flow?.piece ?? null });
  }

  /** Scrolls until a place is in sight. @param {Lane} lane @param {Place} place */
  #reveal({ grid }, { row, piece }) {
    const { scroller } = this;
    if (row !== null && row >= 0) {
      const y = grid.yOf(row);
      if (y < grid.body) scroller.scrollTop -= grid.body - y;
      else if (y + grid.row > grid.height - 4) scroller.scrollTop += y + grid.row - grid.height + 4;
    }
    if (piece !== null) {
      const x = grid.xOf(piece);
      if (x < grid.cells) scroller.scrollLeft -= grid.cells - x;
      else if (x + grid.column > grid.cells + grid.wide) scroller.scrollLeft += x + grid.column - grid.cells - grid.wide;
    }
  }

  /** From cell to cell. @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const lane = this.#current();
    const { rows, pieces, sight } = lane.grid;
    const at = this.cursor ?? { row: lane.grid.sight[0], piece: 0 };
    const [row, piece] = [at.row ?? 0, at.piece ?? -1];
    const page = Math.max(1, sight[1] - sight[0] - 2);
    const to = /** @type {Record<string, [number, number]>} */ ({
      ArrowUp: [row - 1, piece], ArrowDown: [row + 1, piece], ArrowLeft: [row, piece - 1], ArrowRight: [row, piece + 1],
      PageUp: [row - page, piece], PageDown: [row + page, piece], Home: [row, -1], End: [row, pieces - 1],
    })[event.key];
    if (to) {
      const first = this.cursor === null;
      this.cursor = first ? { row, piece: at.piece } : { row: Math.min(rows - 1, Math.max(SOURCE, to[0])), piece: to[1] < 0 ? null : Math.min(pieces - 1, to[1]) };
      this.#reveal(lane, this.cursor);
      announce(sentence(lane.run, this.cursor));
    } else if (event.key === 'Enter' && this.cursor) this.choose(lane, this.cursor);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.session?.clock.touch();
  }
}

customElements.define('swarm-pane', SwarmPane);
