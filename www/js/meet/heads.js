/** Above the picture: which path two people have, each node, and each router's table. */
import { el, setAttr, setText } from '#lab/dom.js';
import { clock, lasted } from '#lab/format.js';
import { Outcomes } from '#lab/outcomes.js';
import { t } from '#lab/strings.js';
import { pathOf, port } from '#lab/meet/words.js';

/** @import * as T from './types' */
/** @import { MeetRun } from './run.js' */
/** @import { Session } from '../session/session.js' */

export class Heads {
  /** @type {Map<number, Card>} */ #cards = new Map();
  /** @type {Map<number, Table>} */ #tables = new Map();
  #shape = '';

  /** @param {Session} session @param {(node: number) => void} select */
  constructor(session, select) {
    this.select = select;
    this.paths = el('div', { class: 'meet-paths' });
    this.outcomes = new Outcomes(session);
    this.cards = el('div', { class: 'meet-cards' });
    this.tables = el('div', { class: 'meet-tables' });
    this.node = el('section', { class: 'meet-head' }, el('div', { class: 'meet-title' }, this.paths, this.outcomes.node), this.tables, this.cards);
  }

  /** @param {MeetRun} run @param {number|null} selected @param {boolean} tables */
  update(run, selected, tables) {
    const order = run.order();
    const shape = order.join();
    if (shape !== this.#shape || !this.#cards.size) {
      this.#shape = shape;
      this.#cards = new Map(order.map((id) => [id, new Card(() => this.select(id))]));
      this.#tables = new Map(order.filter((id) => run.node(id)?.role === 'router').map((id) => [id, new Table(() => this.select(id))]));
      this.cards.replaceChildren(...[...this.#cards.values()].map((card) => card.node));
      this.tables.replaceChildren(...[...this.#tables.values()].map((table) => table.node));
    }
    this.outcomes.update(run);
    this.tables.hidden = !tables || this.#tables.size === 0;
    const views = new Map(order.map((id) => [id, run.look(id)]));
    for (const [id, card] of this.#cards) card.update(run, id, views.get(id) ?? null, selected === id);
    if (!this.tables.hidden) for (const [id, table] of this.#tables) table.update(run, id, /** @type {T.RouterView|null} */ (views.get(id) ?? null), selected === id);
    this.#showPaths(run, views);
  }

  /** Of each pair, whether and how the caller reaches the listener. @param {MeetRun} run @param {Map<number, any>} views */
  #showPaths(run, views) {
    const pairs = /** @type {{caller: number, listener: number}[]} */ (run.scenario?.pairs ?? []);
    if (this.paths.childElementCount !== pairs.length) this.paths.replaceChildren(...pairs.map(() => el('p', { class: 'meet-path' }, el('b', {}), el('span', { class: 'badge' }), el('span', {}))));
    pairs.forEach(({ caller, listener }, i) => {
      const [names, badge, says] = this.paths.children[i].children;
      const view = /** @type {T.PersonView|null} */ (views.get(caller) ?? null);
      const path = pathOf(view);
      setText(names, t('meet.pair', { caller: run.node(caller)?.name ?? '', listener: run.node(listener)?.name ?? '' }));
      setAttr(this.paths.children[i], 'data-path', path);
      setText(badge, t(`path.${path}`));
      const { since, before } = history(run, caller);
      setText(says, view?.path ? t('path.to', { addr: view.path, since: since === null ? '' : clock(since), before: before === null ? '' : lasted((since ?? 0) - before) }) : t(`path.${path}.long`));
    });
  }
}

/** Since when a person has its path, and since when it was relayed before. @param {MeetRun} run @param {number} node */
function history(run, node) {
  const mine = run.marks.filter((m) => m.node === node && m.at <= run.now && ['relayed', 'direct', 'moved'].includes(m.kind));
  const first = mine.find((m) => m.kind !== 'relayed') ?? mine[0];
  const relayed = mine.find((m) => m.kind === 'relayed');
  return { since: first?.at ?? null, before: relayed && first !== relayed ? relayed.at : null };
}

/** A node: a button that selects it. */
class Card {
  /** @param {() => void} select */
  constructor(select) {
    this.name = el('b', {});
    this.lines = [el('span', { class: 'meet-line' }), el('span', { class: 'meet-line' })];
    this.node = el('button', { class: 'meet-card', type: 'button', 'aria-pressed': 'false', on: { click: select } }, this.name, ...this.lines);
  }

  /** @param {MeetRun} run @param {number} id @param {import('#servent').MeetNodeView|null} view @param {boolean} selected */
  update(run, id, view, selected) {
    const node = run.node(id);
    setText(this.name, node?.role === 'place' ? t('node.place.card') : node?.name ?? '');
    setAttr(this.node, 'data-role', node?.role === 'router' || node?.role === 'place' ? node.role : 'person');
    setAttr(this.node, 'aria-pressed', String(selected));
    setAttr(this.node, 'data-down', view ? null : '');
    const [one, two] = lines(view);
    setText(this.lines[0], one);
    setText(this.lines[1], two);
    setAttr(this.node, 'title', [one, two].filter(Boolean).join(' · '));
  }
}

/** What a card says below its name. @param {import('#servent').MeetNodeView|null} view @returns {[string, string]} */
function lines(view) {
  if (!view) return [t('card.down'), ''];
  if (view.kind === 'person') return [view.local, view.seen ? t('card.seen', { seen: view.seen }) : t('card.unseen')];
  if (view.kind === 'router') return [t(`mapping.${view.mapping}.short`), t(`filtering.${view.filtering}.short`)];
  return [view.at, t(view.relayed > 0 ? 'card.relays' : view.introduced > 0 ? 'card.introduced' : view.meetings > 0 ? 'card.waits' : 'card.idle')];
}

/** A router's table. */
class Table {
  #shape = '';

  /** @param {() => void} select */
  constructor(select) {
    this.title = el('button', { class: 'meet-table-title', type: 'button', on: { click: select } });
    this.rule = el('span', { class: 'meet-rule' });
    this.body = el('tbody', {});
    this.empty = el('p', { class: 'meet-none' });
    this.table = el('table', {}, el('thead', {}, el('tr', {}, ...['inside', 'outside', 'expires', 'remote'].map((key) => el('th', { scope: 'col', class: key, text: t(`table.${key}`), title: t(`table.${key}.long`) })))), this.body);
    this.node = el('div', { class: 'meet-table' }, el('div', { class: 'meet-table-head' }, this.title, this.rule), el('div', { class: 'meet-rows', tabindex: '0', role: 'group' }, this.table, this.empty));
  }

  /** @param {MeetRun} run @param {number} id @param {T.RouterView|null} view @param {boolean} selected */
  update(run, id, view, selected) {
    const name = run.node(id)?.name ?? '';
    setText(this.title, name);
    setAttr(this.node, 'data-selected', selected ? '' : null);
    setAttr(/** @type {Element} */ (this.node.lastElementChild), 'aria-label', t('table.of', { name }));
    setText(this.rule, view ? t('table.rule', { filtering: t(`filtering.${view.filtering}`) }) : t('card.down'));
    const rows = view?.rows ?? [];
    this.empty.hidden = rows.length > 0;
    this.table.hidden = rows.length === 0;
    setText(this.empty, t('table.empty'));
    const shape = JSON.stringify(rows.map(({ inside, outside, only, written }) => [inside, outside, only, written]));
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.body.replaceChildren(...rows.slice(0, SHOWN).map((row) => el('tr', {},
        el('td', { text: row.inside, class: 'mono' }),
        el('td', { text: port(row.outside), class: 'mono outer', title: row.outside }),
        el('td', {}),
        el('td', { class: 'mono remote', data: { column: t('table.remote') }, title: remotes(row).join(', '), text: remotes(row).join(', ') }))), ...(rows.length > SHOWN ? [el('tr', {}, el('td', { colspan: 4, text: t('table.more', { n: rows.length - SHOWN }) }))] : []));
    }
    rows.slice(0, SHOWN).forEach((row, i) => setText(this.body.children[i].children[2], t('table.in', { s: Math.max(0, Math.ceil((row.expires - run.now) / 1e6)) })));
  }
}

/** Rows that are shown; two hundred sockets knock when ports are guessed. */
const SHOWN = 12;

/** Where the host of an entry has written to, the other side before the meeting place: a narrow column shows the first. @param {T.RouterView['rows'][number]} row */
const remotes = ({ written }) => [...written].sort((a, b) => Number(a.startsWith('192.0.2.')) - Number(b.startsWith('192.0.2.')) || a.localeCompare(b));
