/** `<meet-pane>`: people, their routers and the meeting place, on one clock. */
import { el, setAttr, stillness } from '#lab/dom.js';
import { openMenu } from '#lab/panels/menu.js';
import { t } from '#lab/strings.js';
import { backdrop } from '#lab/ladder/backdrop.js';
import { LadderPane } from '#lab/ladder/pane.js';
import { gesturesOf, selectionOf } from '#lab/meet/gestures.js';
import { Heads } from '#lab/meet/heads.js';
import { Lane } from '#lab/meet/lane.js';
import { palette } from '#lab/meet/look.js';
import { legend } from '#lab/meet/signs.js';
import { sentence } from '#lab/meet/words.js';

/** @import * as T from './types' */
/** @import { MeetRun } from './run.js' */
/** @import { Session } from '../session/session.js' */

/** A pane that is lower or narrower, in letters, begins without tables. */
const [TABLES_WIDE, TABLES_TALL] = [35, 32];

export class MeetPane extends LadderPane {
  /** @type {Lane|null} */ lane = null;
  /** @override */ zooms = [0.25, 0.5, 1, 2, 4];
  /** @override */ zoom = 2;
  /** Whether tables are shown; null until a person has chosen, in a lesson or outside of it. @type {boolean|null} */ tables = null;
  /** The lesson in which that was chosen. @type {string|null} */ #lesson = null;
  /** @type {number|null} */ #pointed = null;
  /** @type {import('./look.js').Palette|undefined} */ colours = undefined;

  /** @override */
  runs() { return this.lane ? [this.lane] : []; }

  /** @param {Session} session */
  connect(session) {
    const body = this.frame(session, { name: 'meet', picture: t('meet.picture'), empty: t('meet.empty') }, sentence);
    this.heads = new Heads(session, (node) => this.#selectNode(node));
    this.bar = this.#bar();
    this.replaceChildren(this.bar, this.heads.node, body, legend());
    this.#point();
  }
  /** @override */
  repaint() { this.colours = undefined; }

  #bar() {
    this.tabler = el('button', { class: 'button small', type: 'button', data: { tables: '' }, text: t('tables.show'), title: t('tables.show.long'), on: { click: () => this.toggleTables() } });
    return el('div', { class: 'meet-bar' }, this.tabler, ...this.axisButtons());
  }

  /** Shows the routers' tables, or hides them. */
  toggleTables() {
    this.tables = !this.#tabled();
    this.session?.clock.touch();
  }
  #tabled() {
    const lesson = this.session?.lesson?.id ?? null;
    if (lesson !== this.#lesson) this.tables = null;
    this.#lesson = lesson;
    if (this.tables !== null) return this.tables;
    // Lessons speak of them, and on a phone have no button that would show them.
    if (lesson) return true;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return this.clientWidth >= TABLES_WIDE * rem && this.clientHeight >= TABLES_TALL * rem;
  }

  /** Another run. */
  restart() {
    const run = /** @type {MeetRun|null} */ (this.session?.run ?? null);
    this.lane = run && new Lane(run);
    this.#pointed = null;
    this.begin();
  }

  update() {
    const { session, lane } = this;
    if (!session?.run || this.hidden || !this.scroller || !lane || lane.run !== session.run) return;
    this.learn();
    this.plan();
    const { selection } = session;
    this.heads?.update(lane.run, selection.arrow === undefined ? selection.node : null, this.#tabled());
    setAttr(this.tabler, 'aria-pressed', String(this.#tabled()));
    this.keepUp();
    this.#draw(lane);
    this.empty.hidden = lane.run.arrows.length > 0;
    this.listSoon(() => {
      // Another run may have taken its place in the meantime.
      if (this.lane === lane && !lane.run.freed) this.list?.update(lane.run, lane.sight(this.#lookOf(lane)), selection.arrow ?? null);
    });
  }

  /** More is known: the present has moved on the picture. @override */
  planned() { this.findPresent(); }

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
    const { canvas } = this;
    if (!canvas) return;
    const { width, height, scale } = this.fit();
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

  /** The next arrow, or the one before; without one, the first that has not landed yet. @param {number} by @override */
  move(by) {
    const { arrows } = this.lane?.run ?? { arrows: [] };
    if (arrows.length) this.#select(this.step(arrows, by));
  }

  /** @param {number} id @override */
  choose(id) {
    const arrow = this.lane?.run.arrow(id);
    if (arrow) this.#select(arrow);
  }

  /** @param {T.MeetArrow} arrow */
  #select(arrow) {
    const { lane } = this;
    if (!lane) return;
    this.session?.select(selectionOf(arrow, lane.run));
    this.bring(lane.line(arrow, this.axis));
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
      const [x, y] = this.spot(event);
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
      if (arrow) this.#select(arrow);
      else if (x < (this.colours?.gutter ?? 0)) this.seek(y);
      else this.session?.select({ node: null, ticket: null, name: '' });
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
  }
}

customElements.define('meet-pane', MeetPane);
