/** `<queue-board>`: one server's slots and its line, in four lanes. */
import { el, setAttr, setText } from '../dom.js';
import { count, host } from '../format.js';
import { t } from '../strings.js';
import { SendCard, WaitCard } from './card.js';
import { Flight } from './flight.js';
import { Lane } from './lane.js';
import { gestureMenu } from './menu.js';
import { Tray } from './tray.js';

/** @import * as T from '../types' */
/** @import { Run } from '../run.js' */
/** @import { Session } from '../session.js' */

const LANES = /** @type {const} */ (['slots', 'sync', 'async', 'grace']);
/** A line up to this long is asked for whole; beyond, only what is in sight. */
const WHOLE = 160;
/** The head of a long line: the synchronous part as it usually is, and somewhat more. */
const HEAD = 64;
/** A drawing that takes longer, in milliseconds, is dear. */
const DEAR_MS = 4;
/** Rem of a row: a card and the gap below it. */
const ROW_REM = 5.75;

export class QueueBoard extends HTMLElement {
  /** @type {Session|null} */ session = null;
  /** @type {() => Run|null} */ source = () => null;
  /** @type {Map<string, WaitCard|SendCard>} */ #cards = new Map();
  /** @type {Map<string, T.ClientView>} */ #clients = new Map();
  /** @type {Record<string, Lane>} */ #lanes = {};
  /** @type {HTMLElement[]} */ #frames = [];
  #row = ROW_REM * 16;
  #length = 0;
  /** Cards in sight beyond the head of a long line. @type {T.Card[]} */ #far = [];
  #skip = false;
  #restarted = true;

  /** @param {Session} session @param {() => Run|null} source @param {string} label */
  connect(session, source, label) {
    this.session = session;
    this.source = source;
    this.heading = el('h2', { text: label });
    this.figures = el('p', { class: 'figures' });
    this.tray = new Tray();
    const redraw = () => session.touch();
    this.#lanes = Object.fromEntries(LANES.map((id) => [id, new Lane(id, redraw)]));
    this.tabs = el('div', { class: 'lane-tabs segmented', role: 'group', 'aria-label': t('view.queue') },
      ...LANES.map((id) => el('button', { class: 'button', type: 'button', data: { lane: id } }, el('b', { text: '0' }), t(`lane.${id}.short`))));
    const overlay = el('div', { class: 'overlay', 'aria-hidden': 'true' });
    this.flight = new Flight(overlay);
    this.replaceChildren(
      el('div', {}, el('div', { class: 'board-title' }, this.heading, this.figures), this.tabs),
      el('div', { class: 'lanes' }, ...LANES.map((id) => this.#lanes[id].node)), this.tray.node, overlay);
    this.#showLane('slots');
    this.addEventListener('click', (e) => this.#click(e));
    this.addEventListener('contextmenu', (e) => this.#context(e));
    this.addEventListener('keydown', (e) => this.#key(e));
    new ResizeObserver(() => {
      this.#restarted = true;
      redraw();
    }).observe(this);
  }

  /** Another run: nothing flies from the old one to the new. */
  restart() {
    this.#restarted = true;
    this.#cards.clear();
    this.#clients.clear();
    LANES.forEach((id) => this.#lanes[id].list.replaceChildren());
    this.#frames = [];
  }

  /** @param {string} label */
  name(label) { if (this.heading) setText(this.heading, label); }

  update() {
    const run = this.source();
    if (!run || !this.session || this.hidden) return;
    // A costly board is drawn at every second frame, so that the page stays quick.
    this.#skip = !this.#skip && this.#cost > DEAR_MS && this.session.playing;
    if (this.#skip) return;
    const begun = performance.now();
    this.#draw(run);
    this.#cost = performance.now() - begun;
  }
  #cost = 0;

  /** @param {Run} run */
  #draw(run) {
    const session = /** @type {Session} */ (this.session);
    // The projector's type is larger, and its cards with it.
    this.#row = parseFloat(getComputedStyle(document.documentElement).fontSize) * ROW_REM;
    const board = this.#ask(run);
    const { queue } = board;
    for (const client of board.clients) {
      this.#clients.set(client.peer, client);
      session.know(null, client.peer, client.name);
    }
    this.#place(board);
    const down = queue.slots === 0 && queue.capacity === 0;
    const busy = `${t('board.of', { a: queue.slots - queue.free, b: queue.slots })} ${t('board.slots')} · ${count(queue.length)} ${t('board.waiting')}`;
    if (this.figures) setText(this.figures, down ? t('board.down') : busy);
    this.tray?.update(board, session.selection.node, run.kind === 'scenario');
  }

  /** All of a short line; of a long one the head, and what is in sight far behind. @param {Run} run @returns {T.Board} */
  #ask(run) {
    const board = run.board(1, this.#length > WHOLE ? HEAD : WHOLE);
    const { queue } = board;
    this.#length = queue.length;
    this.#far = [];
    if (queue.length <= WHOLE) return board;
    queue.cards.length = Math.min(HEAD, queue.cards.length);
    const near = queue.cards.filter((c) => c.lane === 'async').length;
    const { from, to } = this.#lanes.async.sight(this.#row);
    if (to <= near) return board;
    const behind = run.board(HEAD + 1 + Math.max(0, from - near), to - Math.max(near, from));
    this.#far = behind.queue.cards;
    board.clients.push(...behind.clients);
    return board;
  }

  /** @param {T.Board} board */
  #place(board) {
    const { queue, at } = board;
    const rest = { sync: /** @type {T.Card[]} */ ([]), async: /** @type {T.Card[]} */ ([]), grace: /** @type {T.Card[]} */ ([]) };
    for (const card of queue.cards) rest[card.lane].push(card);
    /** @type {Map<string, WaitCard|SendCard>} */
    const next = new Map();
    const fast = this.#restarted;
    if (fast) this.setAttribute('data-still', '');
    /** @type {Record<string, HTMLElement[]>} */
    const nodes = { slots: [], sync: [], async: [], grace: [] };
    queue.uploads.forEach((card, i) => {
      const view = this.#card(card.ticket, SendCard, 'slots', next);
      view.update(card, this.#name(card.ticket, card.peer), at);
      view.at(i, this.#row);
      nodes.slots.push(view.node);
    });
    for (const lane of /** @type {const} */ (['sync', 'async', 'grace'])) {
      const { from, to } = this.#lanes[lane].sight(this.#row);
      const put = (/** @type {T.Card} */ card, /** @type {number} */ row) => {
        if (row < from || row > to) return;
        const view = this.#card(card.ticket, WaitCard, lane, next);
        view.update(card, this.#name(card.ticket, card.peer), at);
        view.at(row, this.#row);
        nodes[lane].push(view.node);
      };
      rest[lane].forEach(put);
      // Far behind a row stands for a position, so that none has to be counted.
      if (lane === 'async') for (const card of this.#far) put(card, rest.async.length + card.position - HEAD - 1);
    }
    for (const [key, view] of this.#cards) if (!next.has(key) && !fast) this.flight?.note(view.node);
    this.#cards = next;
    this.#freeSlots(queue, nodes.slots);
    LANES.forEach((id) => this.#lanes[id].order(nodes[id]));
    this.#sizes(board, rest);
    this.#marks();
    const speed = this.session?.speed ?? 1;
    if (fast) this.flight && (this.flight.leaving = []);
    else this.flight?.fly(this.tray?.node ?? null, speed > 50 ? 180 : 420);
    if (fast && queue.slots) {
      this.#restarted = false;
      requestAnimationFrame(() => this.removeAttribute('data-still'));
    }
  }

  /**
   * The card of a place. When it stood in another lane it is measured, so
   * that it can fly; a card of the other kind takes its place in the flight.
   * @template {WaitCard|SendCard} C
   * @param {string} key @param {new (key: string) => C} Kind @param {string} lane
   * @param {Map<string, WaitCard|SendCard>} next
   * @returns {C}
   */
  #card(key, Kind, lane, next) {
    const old = this.#cards.get(key);
    let view = /** @type {C|undefined} */ (old instanceof Kind ? old : undefined);
    if (!view) view = new Kind(key);
    if (old && (old !== view || old.node.parentElement !== this.#lanes[lane].list) && !this.#restarted) {
      this.flight?.note(old.node);
      const noted = this.flight?.leaving.at(-1);
      if (noted && noted.node === old.node) noted.node = view.node;
    }
    next.set(key, view);
    return view;
  }

  /** Dashed frames where nobody uploads. @param {T.QueueView} queue @param {HTMLElement[]} nodes */
  #freeSlots(queue, nodes) {
    const busy = nodes.length;
    const { to } = this.#lanes.slots.sight(this.#row);
    for (let i = busy; i < Math.min(queue.slots, to); i += 1) {
      this.#frames[i] ??= el('li', { class: 'slot-frame', text: t('slot.free', { n: i + 1 }) });
      this.#frames[i].style.setProperty('--y', `${i * this.#row}px`);
      nodes.push(this.#frames[i]);
    }
  }

  /** @param {T.Board} board @param {Record<'sync'|'async'|'grace', T.Card[]>} rest */
  #sizes(board, rest) {
    const { queue, lanes } = board;
    const behind = rest.async.length + (queue.length > WHOLE ? queue.length - HEAD : 0);
    const rows = { slots: Math.max(queue.slots, queue.uploads.length), sync: rest.sync.length, async: behind, grace: rest.grace.length };
    const shown = { slots: queue.uploads.length, sync: lanes?.sync ?? rows.sync, async: lanes?.async ?? rows.async, grace: lanes?.grace ?? rows.grace };
    LANES.forEach((id, i) => {
      this.#lanes[id].size(rows[id], this.#row, shown[id]);
      const figure = this.tabs?.children[i]?.firstChild;
      if (figure) setText(figure, count(shown[id]));
    });
  }

  /** Selection, and one tab stop a lane. */
  #marks() {
    const { selection } = /** @type {Session} */ (this.session);
    for (const [key, view] of this.#cards) view.selected(key === selection.ticket || (selection.name !== '' && view.name === selection.name));
    for (const id of LANES) {
      const { list } = this.#lanes[id];
      if (list.querySelector('.card-main[tabindex="0"]')) continue;
      const first = list.querySelector('.card[data-selected] .card-main') ?? list.querySelector('.card-main');
      // A lane that may scroll must be reachable, also while it is empty.
      setAttr(this.#lanes[id].scroll, 'tabindex', first ? null : '0');
      if (first) this.#stop(first.closest('.card'));
    }
  }

  /** Makes a card the tab stop of its lane. @param {Element|null} card */
  #stop(card) {
    if (!card) return;
    for (const node of card.parentElement?.querySelectorAll('[tabindex="0"]') ?? []) setAttr(node, 'tabindex', '-1');
    for (const node of card.querySelectorAll('button')) setAttr(node, 'tabindex', '0');
  }

  /** @param {string} ticket @param {string} peer */
  #name(ticket, peer) {
    const name = this.#clients.get(peer)?.name ?? this.#clients.get(host(peer))?.name ?? this.session?.nameOf(ticket, peer) ?? away(peer);
    this.session?.know(ticket, peer, name);
    return name;
  }

  /** @param {string} key @returns {T.Selection} */
  #selectionOf(key) {
    const view = this.#cards.get(key);
    const client = [...this.#clients.values()].find((c) => c.name === view?.name);
    return { ticket: key, node: client?.node ?? null, name: view?.name ?? key };
  }

  /** @param {Event} event */
  #click(event) {
    const target = /** @type {Element} */ (event.target);
    const tab = target.closest('[data-lane].button');
    if (tab instanceof HTMLElement && tab.dataset.lane) return this.#showLane(tab.dataset.lane);
    const chip = target.closest('.chip');
    if (chip instanceof HTMLElement) {
      const node = Number(chip.dataset.node);
      const name = this.source()?.node(node)?.name ?? '';
      this.session?.select({ node, ticket: null, name });
      return undefined;
    }
    const card = target.closest('.card');
    if (!(card instanceof HTMLElement) || !card.dataset.key) return undefined;
    const selection = this.#selectionOf(card.dataset.key);
    const menu = target.closest('.card-menu');
    const again = this.session?.selection.name === selection.name && !menu;
    this.session?.select(again ? { node: null, ticket: null, name: '' } : selection);
    this.#stop(card);
    if (menu && this.session) gestureMenu(this.session, selection, menu);
    return undefined;
  }

  /** @param {Event} event */
  #context(event) {
    const card = /** @type {Element} */ (event.target).closest('.card');
    if (!(card instanceof HTMLElement) || !card.dataset.key || !this.session) return;
    event.preventDefault();
    const selection = this.#selectionOf(card.dataset.key);
    this.session.select(selection);
    gestureMenu(this.session, selection, /** @type {Element} */ (card.querySelector('.card-menu')));
  }

  /** Up and down within a lane. @param {KeyboardEvent} event */
  #key(event) {
    const by = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
    const card = /** @type {Element} */ (event.target).closest('.card');
    if (by === undefined || !card) return;
    event.preventDefault();
    const all = [...(card.parentElement?.querySelectorAll('.card') ?? [])];
    const to = all[Math.min(all.length - 1, Math.max(0, by === -Infinity ? 0 : by === Infinity ? all.length - 1 : all.indexOf(card) + by))];
    this.#stop(to);
    const button = /** @type {HTMLElement|null} */ (to.querySelector('.card-main'));
    button?.focus({ preventScroll: true });
    to.scrollIntoView({ block: 'nearest' });
  }

  /** On a narrow board one lane is shown at a time. @param {string} id */
  #showLane(id) {
    for (const lane of LANES) setAttr(this.#lanes[lane].node, 'data-shown', lane === id ? '' : null);
    for (const tab of /** @type {Iterable<HTMLElement>} */ (this.tabs?.children ?? [])) setAttr(tab, 'aria-pressed', String(tab.dataset.lane === id));
    this.#restarted = true;
    this.session?.touch();
  }
}

/** A neighbour on this machine is told apart by its port alone. @param {string} peer */
function away(peer) {
  return peer.replace(/^(127\.\d+\.\d+\.\d+|\[::1\]):(?=\d)/, ':');
}

customElements.define('queue-board', QueueBoard);
