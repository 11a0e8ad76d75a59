/** `<routing-pane>`: one network, or two beside each other on one clock. */
import { el, setAttr, setText } from '#lab/dom.js';
import { count } from '#lab/format.js';
import { onColours } from '#lab/theme.js';
import { told } from '#lab/session/future.js';
import { openMenu } from '#lab/panels/menu.js';
import { Outcomes } from '#lab/outcomes.js';
import { t } from '#lab/strings.js';
import { gesturesOf, NOTHING, selected, selectionOf, thingOf } from '#lab/routing/gestures.js';
import { NodeList } from '#lab/routing/list.js';
import { Lives } from '#lab/routing/lives.js';
import { palette } from '#lab/routing/look.js';
import { crossed } from '#lab/routing/parts.js';
import { legend } from '#lab/routing/signs.js';
import { Stage } from '#lab/routing/stage.js';
import { searchName } from '#lab/routing/words.js';

/** @import { RoutingRun } from './run.js' */
/** @import { Thing } from './stage.js' */
/** @import { Session } from '../session/session.js' */

const ZOOM = 1.5;
/** Counters and lists are read this often while the picture moves, in milliseconds. */
const WORDS_MS = 200;
/** A narrower picture shows one network of two. */
const BOTH_PX = 620;

export class RoutingPane extends HTMLElement {
  /** @type {Stage[]} */ stages = [];
  /** What is followed: the newest search, one by its number, or nothing. @type {'newest'|number} */
  follow = 'newest';
  shown = 0;
  #worded = 0;
  #timer = 0;
  #choices = '';
  /** @type {import('./look.js').Palette|undefined} */ colours = undefined;

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.lives = new Lives(session);
    this.choice = el('select', { class: 'input', on: { change: () => this.followed(this.choice.value === 'newest' ? 'newest' : Number(this.choice.value)) } });
    this.tabs = el('div', { class: 'segmented routing-tabs', role: 'group', 'aria-label': t('routing.which') }, ...[0, 1].map((i) => el('button', { class: 'button small', type: 'button', data: { lane: i }, on: { click: () => { this.shown = i; session.clock.touch(); } } })));
    const zoom = (/** @type {string} */ key, /** @type {string} */ sign, /** @type {() => void} */ run) => el('button', { class: 'button small icon plain', type: 'button', data: { zoom: key }, 'aria-label': t(`routing.zoom.${key}`), title: t(`routing.zoom.${key}`), on: { click: run } }, sign);
    this.bar = el('div', { class: 'routing-bar' },
      el('label', { class: 'routing-follow', title: t('follow.long') }, el('span', { text: t('follow.label') }), this.choice), this.lives.node,
      el('div', { class: 'zoom', role: 'group', 'aria-label': t('routing.zoom.label') }, zoom('out', '−', () => this.enlarge(1 / ZOOM)), zoom('whole', '⤢', () => this.enlarge(0)), zoom('in', '+', () => this.enlarge(ZOOM))));
    this.line = el('button', { class: 'button small', type: 'button', 'aria-pressed': 'false', data: { draw: 'line' }, text: t('partition.draw'), title: t('partition.draw.long'), on: { click: () => this.draws(!this.drawing) } });
    this.bar.insertBefore(this.line, this.bar.lastChild);
    this.body = el('div', { class: 'routing-both' });
    this.empty = el('p', { class: 'routing-empty', text: t('routing.empty') });
    this.list = new NodeList({ go: (x, y) => this.move(x, y), choose: (thing) => this.#choose(this.#current(), thing), menu: () => this.#menuHere() });
    this.replaceChildren(this.bar, this.tabs, el('div', { class: 'routing-body', role: 'group', 'aria-label': t('routing.picture') }, this.body, this.empty, this.list.node), legend());
    const repaint = () => {
      this.colours = undefined;
      session.clock.touch();
    };
    session.addEventListener('theme', repaint);
    onColours(repaint);
    new ResizeObserver(() => session.clock.touch()).observe(this);
  }

  /** Another run, or another way to look at it. */
  restart() {
    const { session } = this;
    if (!session?.run || !this.body) return;
    const before = this.stages;
    const runs = /** @type {RoutingRun[]} */ (session.runs());
    this.stages = runs.map((run) => new Stage(run, {
      touch: () => session.clock.touch(),
      choose: (stage, thing) => this.#choose(stage, thing),
      menu: (stage) => this.#menu(stage),
      drawn: this.drawing ? (stage, from, to) => this.#part(stage, from, to) : null,
    }));
    // Other tables leave the picture where it was.
    this.stages.forEach((stage, i) => {
      const old = before[i];
      if (old && old.run.nodes.length === stage.run.nodes.length && old.run.told.shape === stage.run.told.shape) Object.assign(stage.camera, { zoom: old.camera.zoom, x: old.camera.x, y: old.camera.y });
    });
    const names = runs.length < 2 ? [] : session.scenario && !session.actions.beside ? session.view.variants(session.scenario).map((way) => way.name) : runs.map(({ side }) => side);
    this.figures = runs.map(() => el('dl', { class: 'routing-figures' }));
    this.outcomes = runs.map(() => new Outcomes(session));
    this.columns = this.stages.map((stage, i) => {
      stage.name.hidden = !names[i];
      setText(stage.name, names[i] ?? '');
      return el('section', { class: 'routing-column' }, stage.name, stage.node, el('div', { class: 'routing-sums' }, this.outcomes?.[i].node, this.figures?.[i]));
    });
    this.names = names;
    this.body.replaceChildren(...this.columns);
    this.follow = 'newest';
    this.#choices = '';
    this.#worded = 0;
  }

  update() {
    const { session } = this;
    if (!session?.run || this.hidden || !this.body || this.stages[0]?.run !== session.run) return;
    const colours = this.#palette();
    const shown = this.#shown();
    this.stages.forEach((stage, i) => {
      const { run } = stage;
      run.learn();
      this.columns[i].hidden = !shown.includes(stage);
      if (this.columns[i].hidden) return;
      const { selection, sought } = session;
      stage.paint({ found: sought.in(run), colours, follow: this.follow === 'newest' ? run.newest() : this.follow, selected: (selection.lane ?? 0) === i ? thingOf(selection, run) : null });
    });
    if (!(/** @type {RoutingRun} */ (session.run).explored)) session.clock.touch();
    this.#words();
  }
  /** @type {any[]} */ columns = [];

  #palette() {
    const { theme } = document.documentElement.dataset;
    if (!this.colours || theme !== this.#theme) {
      this.#theme = theme;
      this.colours = palette(this);
      for (const stage of this.stages) stage.forget();
    }
    return this.colours;
  }
  /** @type {string|undefined} */ #theme = undefined;

  #shown() {
    if (this.stages.length < 2 || this.clientWidth >= BOTH_PX) return this.stages;
    return [this.stages[this.shown] ?? this.stages[0]];
  }

  /** What stands beside the picture; while it moves not at every frame. */
  #words() {
    clearTimeout(this.#timer);
    const wait = this.#worded + WORDS_MS - performance.now();
    if (wait > 0) {
      this.#timer = window.setTimeout(() => this.#words(), wait);
      return;
    }
    this.#worded = performance.now();
    const { session } = this;
    const run = /** @type {RoutingRun|null|undefined} */ (session?.run);
    if (!session || !run || run.freed || this.stages[0]?.run !== run) return;
    session.guard(() => this.stages.forEach((stage, i) => {
      this.#figure(stage, this.figures?.[i]);
      this.outcomes?.[i].update(stage.run);
    }));
    this.tabs.hidden = this.stages.length < 2 || this.clientWidth >= BOTH_PX;
    [...this.tabs.children].forEach((tab, i) => {
      setText(tab, this.names?.[i] ?? '');
      setAttr(tab, 'aria-pressed', String(i === this.shown));
    });
    this.lives?.update(run);
    this.#offer(run);
    this.empty.hidden = run.flights.count > 0 || !run.explored;
    const stage = this.#current();
    const mine = this.stages.indexOf(stage) === (session.selection.lane ?? 0);
    this.list?.update(stage, mine ? thingOf(session.selection, stage.run) : null);
  }
  /** @type {string[]|undefined} */ names = undefined;

  /** Sent, useful, dropped and why, lost. @param {Stage} stage @param {any} list */
  #figure({ run }, list) {
    const all = run.counters();
    const why = all.reasons.toSorted(([, a], [, b]) => b - a).map(([reason, n]) => t('figure.reason', { n, why: t(`drop.${reason}`) })).join(', ');
    const rows = [['sent', all.sent, ''], ['useful', all.useful, ''], ['dropped', all.dropped, why], ['lost', all.lost, '']];
    if (list.childElementCount === 0) list.append(...rows.map(([key]) => el('div', { data: { figure: key }, title: t(`figure.${key}.long`) }, el('dt', { text: t(`figure.${key}`) }), el('dd', {}, el('b', {}), el('span', {})))));
    rows.forEach(([, n, words], i) => {
      const [b, span] = list.children[i].lastChild.children;
      setText(b, count(Number(n)));
      setText(span, String(words));
    });
  }

  /** What can be followed. @param {RoutingRun} run */
  #offer(run) {
    const searches = run.searches.filter(({ at }) => told(at, run.now));
    const choices = `${run.generation}|${searches.length}|${searches.at(-1)?.at}|${this.follow}`;
    if (choices === this.#choices) return;
    this.#choices = choices;
    const option = (/** @type {string} */ value, /** @type {string} */ text) => el('option', { value, text, selected: value === String(this.follow) });
    const list = searches.slice(0, 100);
    const known = typeof this.follow !== 'number' || this.follow < 0 || list.some((s) => s.guid === this.follow);
    this.choice.replaceChildren(option('newest', t('follow.newest')), ...list.map((s) => option(String(s.guid), searchName(run, s))),
      known ? '' : option(String(this.follow), t('follow.other', { n: Number(this.follow) + 1 })), option('-1', t('follow.none')));
  }

  /** @param {'newest'|number} what */
  followed(what) {
    this.follow = what;
    this.#choices = '';
    this.#worded = 0;
    this.session?.clock.touch();
  }

  /** The next search. */
  next() {
    const run = /** @type {RoutingRun|null|undefined} */ (this.session?.run);
    if (!run?.searches.length) return;
    const here = run.searches.findIndex((s) => s.guid === (this.follow === 'newest' ? run.newest() : this.follow));
    this.followed(run.searches[(here + 1) % run.searches.length].guid);
  }

  /** The network that keys walk through: the one of the selection, or the first that is shown. @returns {Stage} */
  #current() {
    const shown = this.#shown();
    const stage = this.stages[this.session?.selection.lane ?? -1];
    return stage && shown.includes(stage) ? stage : shown[0];
  }

  /** @param {Stage} stage @param {Thing|null} thing */
  #choose(stage, thing) {
    const { session } = this;
    if (!session) return;
    this.#worded = 0;
    if (!thing) return session.select(NOTHING);
    const { run } = stage;
    if (thing.kind === 'message' && run.flights.guid[thing.i] >= 0) this.followed(run.flights.guid[thing.i]);
    session.select(selectionOf(thing, run, this.stages.indexOf(stage)));
    return undefined;
  }

  /** The next drag draws a line through the network, or no more. @param {boolean} on */
  draws(on) {
    this.drawing = on && this.session?.run?.kind === 'scenario';
    setAttr(this.line, 'aria-pressed', String(this.drawing));
    for (const stage of this.stages) stage.deeds.drawn = this.drawing ? (of, from, to) => this.#part(of, from, to) : null;
    if (this.drawing) this.session?.notice(t('partition.draw.long'));
  }
  drawing = false;

  /** Cuts the links that a line crosses, as one act. @param {Stage} stage @param {{x: number, y: number}} from @param {{x: number, y: number}} to */
  #part(stage, from, to) {
    this.draws(false);
    const links = crossed(stage.run, stage.places, from, to);
    this.session?.actions.gesture('partition', { node: null, ticket: null, name: '', lane: this.stages.indexOf(stage), links });
  }

  /** @param {Stage} stage */
  #menu(stage) {
    const session = /** @type {Session} */ (this.session);
    const items = gesturesOf(session);
    if (!items.length) return;
    const { selection } = session;
    const mark = stage.marks.selected;
    openMenu(mark, selection.name, items.map(({ gesture, text, key }) => ({ text, key, run: () => session.actions.gesture(gesture, selection) })));
  }

  #menuHere() {
    const session = /** @type {Session} */ (this.session);
    if (selected(session)) this.#menu(this.#current());
  }

  /** To the neighbour in a direction; without a selection, to where the story begins. @param {number} x @param {number} y */
  move(x, y) {
    const session = /** @type {Session} */ (this.session);
    const stage = this.#current();
    const { run } = stage;
    const at = session.selection.node;
    if (at === null || at >= run.nodes.length || (x === 0 && y === 0)) return this.#go(stage, at ?? run.home.id);
    const { px, py } = stage.places;
    let [best, least] = [-1, Infinity];
    for (let k = run.near.from[at]; k < run.near.from[at + 1]; k += 1) {
      const to = run.near.to[k];
      const [dx, dy] = [px[to] - px[at], py[to] - py[at]];
      const long = Math.max(1, Math.hypot(dx, dy));
      const along = (dx * x + dy * y) / long;
      const away = long * (2.2 - along);
      if (along > 0.2 && away < least) [best, least] = [to, away];
    }
    if (best >= 0) this.#go(stage, best);
    return undefined;
  }

  /** @param {Stage} stage @param {number} node */
  #go(stage, node) {
    stage.camera.show(stage.run.places.x[node], stage.run.places.y[node]);
    this.#choose(stage, { kind: 'node', i: node });
  }

  /** The next link of the node one stands at. */
  link() {
    const session = /** @type {Session} */ (this.session);
    const stage = this.#current();
    const { run } = stage;
    const thing = selected(session);
    const node = this.#at ?? run.home.id;
    const from = thing?.kind === 'node' ? thing.i : node;
    this.#at = from;
    const mine = [...run.near.link.subarray(run.near.from[from], run.near.from[from + 1])];
    const here = thing?.kind === 'link' ? mine.indexOf(thing.i) : -1;
    if (mine.length) this.#choose(stage, { kind: 'link', i: mine[(here + 1) % mine.length] });
  }
  /** Whose links are gone through. @type {number|null} */ #at = null;

  /** @param {number} by a factor; 0 for all of it */
  enlarge(by) {
    for (const stage of this.#shown()) {
      const at = stage.where(this.session ? thingOf(this.session.selection, stage.run) : null);
      stage.look(() => (by === 0 ? stage.camera.whole() : stage.camera.enlarge(by, at?.x, at?.y)));
    }
  }

  /** Instants at which something leaves next, or `null` while something is in flight. @returns {number|null} */
  departure() {
    let next = Infinity;
    for (const { run, messages } of this.stages) {
      if (messages.count > 0) return null;
      const { flights, now } = run;
      const i = flights.firstFrom(now + 0.5);
      next = Math.min(next, i < flights.count ? flights.sent[i] : run.explored ? Infinity : flights.known);
    }
    return next === Infinity ? /** @type {Session} */ (this.session).clock.end : next;
  }
}

customElements.define('routing-pane', RoutingPane);
