/** `<server-queue>`: one server's slots and its line, in four lanes. */
import { el, setAttr, setText } from '#lab/dom.js';
import { count, host } from '#lab/format.js';
import { Outcomes } from '#lab/outcomes.js';
import { t } from '#lab/strings.js';
import { FreeSlot, SendCard, WaitCard } from '#lab/queue/card.js';
import { Flight } from '#lab/queue/flight.js';
import { Lane } from '#lab/queue/lane.js';
import { gestureMenu } from '#lab/queue/menu.js';
import { Tray } from '#lab/queue/tray.js';

/** @import * as T from '../types' */
/** @import { QueueRun } from './run.js' */
/** @import { Session } from '../session/session.js' */

const LANES = /** @type {const} */ (['slots', 'sync', 'async', 'grace']);
/** The lanes of those who wait. */
const LINE = /** @type {const} */ (['sync', 'async', 'grace']);
/** At a higher speed cards jump: sliding ones would never arrive. */
const RAPID = 50;
/** What the arrow keys go along. */
const STOPS = '.card, .slot-frame[data-kept]';
/** A drawing that takes longer, in milliseconds, is dear. */
const DEAR_MS = 4;
/** Rem of a row: a card and the gap below it. */
const ROW_REM = 5.75;

export class ServerQueue extends HTMLElement {
  /** @type {Session|null} */ session = null;
  /** @type {() => QueueRun|null} */ source = () => null;
  /** @type {Map<string, WaitCard|SendCard>} */ #cards = new Map();
  /** @type {Map<string, T.ClientInfo>} */ #clients = new Map();
  /** @type {Record<string, Lane>} */ #lanes = {};
  /** @type {FreeSlot[]} */ #frames = [];
  #row = ROW_REM * 16;
  /** The first card of each lane that is asked for. */
  #from = { sync: 0, async: 0, grace: 0 };
  #skip = false;
  #restarted = true;

  /** @param {Session} session @param {() => QueueRun|null} source @param {string} label */
  connect(session, source, label) {
    this.session = session;
    this.source = source;
    this.heading = el('h2', { text: label });
    this.which = el('select', { class: 'input which', 'aria-label': t('queue.which'), hidden: true, on: { change: () => this.#choose() } });
    this.figures = el('p', { class: 'figures' });
    this.tray = new Tray();
    this.outcomes = new Outcomes(session);
    const redraw = () => session.clock.touch();
    this.#lanes = Object.fromEntries(LANES.map((id) => [id, new Lane(id, redraw)]));
    this.tabs = el('div', { class: 'lane-tabs segmented', role: 'group', 'aria-label': t('view.queue') },
      ...LANES.map((id) => el('button', { class: 'button', type: 'button', data: { lane: id } }, el('b', { text: '0' }), t(`lane.${id}.short`))));
    const overlay = el('div', { class: 'overlay', 'aria-hidden': 'true' });
    this.flight = new Flight(overlay);
    this.replaceChildren(
      el('div', {}, el('div', { class: 'queue-title' }, this.heading, this.which, this.figures), this.outcomes.node, this.tabs),
      el('div', { class: 'lanes' }, ...LANES.map((id) => this.#lanes[id].node)), this.tray.node, overlay);
    // The line is what a queue is about.
    this.#showLane('sync');
    session.addEventListener('lesson', () => {
      this.#about = session.lesson?.names ?? [];
      redraw();
    });
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
    this.flight?.land();
  }

  /** What the picture is called; without a name, the server it shows, and which others there are. @param {string|null} label */
  name(label) {
    const run = this.source();
    if (!run || !this.heading) return;
    const { servers, server } = run;
    const several = servers.length > 1;
    this.heading.hidden = several && label === null;
    setText(this.heading, label ?? server.name);
    this.which.hidden = !several;
    if (several) this.which.replaceChildren(...servers.map((n) => el('option', { value: n.id, text: n.name, selected: n === server })));
    this.#named = server.id;
    this.#label = label;
  }
  /** Whose queue it was called, and how. @type {number|null} */ #named = null;
  /** @type {string|null} */ #label = null;

  /** The queue of another server, in every run. */
  #choose() {
    for (const run of this.session?.runs() ?? []) /** @type {QueueRun} */ (run).shown = Number(this.which.value);
    this.session?.emit('run');
    this.session?.clock.touch();
  }

  update() {
    const run = this.source();
    if (!run || !this.session || this.hidden) return;
    // A costly picture is drawn at every second frame, so that the page stays quick.
    this.#skip = !this.#skip && this.#cost > DEAR_MS && this.session.clock.playing;
    if (this.#skip) return;
    const begun = performance.now();
    this.#draw(run);
    this.#cost = performance.now() - begun;
  }
  #cost = 0;

  /** @param {QueueRun} run */
  #draw(run) {
    const session = /** @type {Session} */ (this.session);
    // The projector's type is larger, and its cards with it.
    this.#row = parseFloat(getComputedStyle(document.documentElement).fontSize) * ROW_REM;
    // A site has another leader, whose queue it is now.
    if (run.server.id !== this.#named) {
      this.name(this.#label);
      this.restart();
    }
    const state = this.#ask(run);
    const { queue } = state;
    for (const client of state.clients) {
      this.#clients.set(client.peer, client);
      run.know(null, client.peer, client.name);
    }
    this.#place(state);
    const down = queue.slots === 0 && queue.capacity === 0;
    const busy = `${t('queue.of', { a: queue.slots - queue.free, b: queue.slots })} ${t('queue.slots.busy')} · ${count(queue.length)} ${t('queue.waiting')}`;
    if (this.figures) setText(this.figures, down ? t('queue.down') : busy);
    setAttr(this, 'data-kind', run.kind);
    this.outcomes?.update(run);
    if (run.kind === 'scenario') this.tray?.update(state, session.selection.node);
    else this.tray?.downloads(run.inspect(run.server.id)?.fetches ?? []);
  }

  /** Clients that a step of a lesson names, until one of them is seen. @type {string[]} */
  #about = [];

  /** What is in sight of each lane. @param {QueueRun} run @returns {T.QueueState} */
  #ask(run) {
    const sights = LINE.map((id) => this.#lanes[id].sight(this.#row));
    const [sync, async, grace] = sights.map(({ from }) => from);
    this.#from = { sync, async, grace };
    return run.lanes(this.#from, Math.max(...sights.map(({ from, to }) => to - from)));
  }

  /** @param {T.QueueState} state */
  #place(state) {
    const { queue, at } = state;
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
    const kept = new Map(queue.kept.map((k) => [k.ticket, k]));
    const row = { ...this.#from };
    for (const card of queue.cards) {
      const view = this.#card(card.ticket, WaitCard, card.lane, next);
      view.update(card, this.#name(card.ticket, card.peer), at, kept.get(card.ticket));
      view.at(row[card.lane], this.#row);
      row[card.lane] += 1;
      nodes[card.lane].push(view.node);
    }
    for (const [key, view] of this.#cards) if (!next.has(key) && !fast) this.#leave(view);
    this.#cards = next;
    this.#freeSlots(queue, nodes.slots, at);
    LANES.forEach((id) => this.#lanes[id].order(nodes[id]));
    this.#sizes(state);
    for (const id of LANES) this.#scrolled.set(this.#lanes[id].scroll, this.#lanes[id].scroll.scrollTop);
    this.#marks();
    // What a step of a lesson is about is in the lane that is shown where only one is.
    const named = queue.cards.find((card) => this.#about.includes(this.#name(card.ticket, card.peer)));
    if (named) {
      this.#about = [];
      this.#showLane(named.lane);
    }
    const speed = this.session?.clock.playing ? this.session.clock.speed : 1;
    setAttr(this, 'data-rapid', speed > RAPID ? '' : null);
    if (fast) this.flight?.land();
    else this.flight?.fly(this.tray?.node ?? null, speed);
    if (fast && queue.slots) {
      this.#restarted = false;
      requestAnimationFrame(() => this.removeAttribute('data-still'));
    }
  }

  /** Who was served flies to the tray, who lost its place fades; who was only scrolled out of sight does neither. @param {WaitCard|SendCard} view */
  #leave(view) {
    if (view instanceof SendCard) return this.flight?.note(view.node);
    const scroll = view.node.closest('.lane-scroll');
    if (!scroll || scroll.scrollTop !== this.#scrolled.get(scroll)) return undefined;
    const { top, bottom } = scroll.getBoundingClientRect();
    const card = view.node.getBoundingClientRect();
    return card.top < bottom && card.bottom > top ? this.flight?.note(view.node, true) : undefined;
  }
  /** Where each lane stood when it was drawn last. @type {WeakMap<Element, number>} */
  #scrolled = new WeakMap();

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

  /** Dashed frames of slots without an upload; a kept one says for which client. @param {T.QueueView} queue @param {HTMLElement[]} nodes @param {number} at */
  #freeSlots(queue, nodes, at) {
    const busy = nodes.length;
    const { to } = this.#lanes.slots.sight(this.#row);
    for (let i = busy; i < Math.min(queue.slots, to); i += 1) {
      const kept = queue.kept[i - busy];
      this.#frames[i] ??= new FreeSlot();
      this.#frames[i].update(i + 1, kept, kept ? this.#name(kept.ticket, kept.peer) : '', at);
      this.#frames[i].node.style.setProperty('--y', `${i * this.#row}px`);
      nodes.push(this.#frames[i].node);
    }
  }

  /** @param {T.QueueState} state */
  #sizes({ queue, lanes }) {
    const beyond = lanes?.beyond ?? 0;
    const shown = { slots: queue.uploads.length, sync: lanes?.sync ?? 0, async: (lanes?.async ?? 0) + beyond, grace: lanes?.grace ?? 0 };
    const rows = { ...shown, slots: Math.max(queue.slots, queue.uploads.length), async: lanes?.async ?? 0 };
    LANES.forEach((id, i) => {
      this.#lanes[id].size(rows[id], this.#row, shown[id]);
      const figure = this.tabs?.children[i]?.firstChild;
      if (figure) setText(figure, count(shown[id]));
    });
    const { count: head } = this.#lanes.async;
    setAttr(head, 'title', beyond ? t('lane.beyond', { n: beyond }) : null);
  }

  /** Selection, and one tab stop a lane. */
  #marks() {
    const { selection, sought } = /** @type {Session} */ (this.session);
    const run = this.source();
    const found = run ? sought.in(run) : null;
    for (const [key, view] of this.#cards) {
      view.selected(key === selection.ticket || (selection.name !== '' && view.name === selection.name));
      view.pale(found !== null && !found.names.has(key) && !found.names.has(view.name));
    }
    for (const id of LANES) {
      const { list } = this.#lanes[id];
      if (list.querySelector('.card-main[tabindex="0"]:not([hidden])')) continue;
      const first = list.querySelector('.card[data-selected] .card-main') ?? list.querySelector('.card-main:not([hidden])');
      // A lane that may scroll must be reachable, also while it is empty.
      setAttr(this.#lanes[id].scroll, 'tabindex', first ? null : '0');
      if (first) this.#stop(first.closest(STOPS));
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
    const run = this.source();
    const name = this.#clients.get(peer)?.name ?? this.#clients.get(host(peer))?.name ?? run?.nameOf(ticket, peer) ?? away(peer);
    run?.know(ticket, peer, name);
    return name;
  }

  /** A kept slot selects the client it is kept for. @param {string} ticket */
  #selectKept(ticket) {
    const name = this.source()?.nameOf(ticket, '') ?? ticket;
    const node = this.source()?.nodes.find((n) => n.name === name)?.id ?? null;
    this.session?.select({ ticket, node, name });
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
    const frame = target.closest('.slot-frame');
    if (frame instanceof HTMLElement && frame.dataset.kept) return void this.#selectKept(frame.dataset.kept);
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
    if (this.source()?.kind === 'trace') return;
    event.preventDefault();
    const selection = this.#selectionOf(card.dataset.key);
    this.session.select(selection);
    gestureMenu(this.session, selection, /** @type {Element} */ (card.querySelector('.card-menu')));
  }

  /** Up and down within a lane. @param {KeyboardEvent} event */
  #key(event) {
    const by = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
    const card = /** @type {Element} */ (event.target).closest(STOPS);
    if (by === undefined || !card) return;
    event.preventDefault();
    const all = [...(card.parentElement?.querySelectorAll(STOPS) ?? [])];
    const to = all[Math.min(all.length - 1, Math.max(0, by === -Infinity ? 0 : by === Infinity ? all.length - 1 : all.indexOf(card) + by))];
    this.#stop(to);
    const button = /** @type {HTMLElement|null} */ (to.querySelector('.card-main'));
    button?.focus({ preventScroll: true });
    to.scrollIntoView({ block: 'nearest' });
  }

  /** On a narrow screen one lane is shown at a time. @param {string} id */
  #showLane(id) {
    for (const lane of LANES) setAttr(this.#lanes[lane].node, 'data-shown', lane === id ? '' : null);
    for (const tab of /** @type {Iterable<HTMLElement>} */ (this.tabs?.children ?? [])) setAttr(tab, 'aria-pressed', String(tab.dataset.lane === id));
    this.#restarted = true;
    this.session?.clock.touch();
  }
}

/** A neighbour on this machine is told apart by its port alone. @param {string} peer */
function away(peer) {
  return peer.replace(/^(127\.\d+\.\d+\.\d+|\[::1\]):(?=\d)/, ':');
}

customElements.define('server-queue', ServerQueue);
