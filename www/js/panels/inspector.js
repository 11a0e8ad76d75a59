/** `<lab-inspector>`: the newest event and why, the selection, what changed, the whole state. */
import { badge } from '../board/card.js';
import { GESTURES } from '../board/menu.js';
import { el, fill, setText } from '../dom.js';
import { clock, span } from '../format.js';
import { reason, t, tell } from '../strings.js';
import { show, tree } from './tree.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session.js' */

/** How far the chain of causes is followed. */
const CHAIN = 5;
/** Changes shown of one event. */
const CHANGES = 12;
/** While playing the state is read this often, in milliseconds. */
const PAUSE_MS = 250;

export class LabInspector extends HTMLElement {
  #open = new Set(['state']);
  #due = 0;
  #shape = '';
  #kind = /** @type {string|undefined} */ (undefined);

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.who = el('section', { class: 'who' });
    this.event = el('section', {});
    this.changes = el('section', {});
    this.state = el('section', {});
    this.replaceChildren(this.event, this.who, this.changes, this.state);
    for (const type of ['select', 'run', 'faults', 'play']) session.addEventListener(type, () => { this.#shape = ''; this.#due = 0; });
    session.addEventListener('frame', () => this.update());
  }

  update() {
    const { session } = this;
    const run = session?.run;
    if (!session || !run || performance.now() < this.#due) return;
    const shape = `${run.index}|${session.selection.ticket}|${session.selection.node}|${session.branch}|${session.playing ? '' : run.now}`;
    if (shape === this.#shape) return;
    this.#shape = shape;
    this.#due = session.playing ? performance.now() + PAUSE_MS : 0;
    this.#showEvent();
    this.#showSelection();
    if (session.playing) return;
    const node = session.selection.node ?? session.current()?.node ?? run.server.id;
    const name = run.node(node)?.name ?? run.server.name;
    this.#showChanges(node, name);
    this.state?.replaceChildren(el('h2', { text: t('inspect.state', { name }) }), el('div', { class: 'tree' }, tree(run.inspect(node), 'state', this.#open, run.origin)));
  }

  #showEvent() {
    const session = /** @type {Session} */ (this.session);
    const run = session.run;
    const record = session.current();
    const head = el('h2', { text: t('inspect.event') });
    if (!run || !record) return void this.event.replaceChildren(head, el('p', { class: 'sentence', text: t('inspect.none') }));
    const why = run.why(record.seq);
    const body = Object.values(record.event)[0];
    const rule = why ? reason(why.key, { ...body, ...why.args }) : '';
    fill(this.event, head,
      el('p', { class: 'sentence' }, el('time', { text: clock(record.at - run.origin) }), tell(record)),
      this.#rule(rule, why),
      this.#chain(record));
    return undefined;
  }

  /** The rule that was followed: its sentence, its clause, its number. @param {string} rule @param {T.Why|null} why */
  #rule(rule, why) {
    if (!rule && !why?.clause) return null;
    const { id = null, clause = null } = why ?? {};
    return el('div', { class: 'why' }, el('h3', { text: t('inspect.why') }), rule ? el('p', { text: rule }) : null,
      clause ? el('p', { class: 'clause' }, el('span', { text: clause }), id ? el('code', { text: id, title: t('inspect.requirement', { id }) }) : null) : null);
  }

  /** The records that led here, each a button that goes there. @param {T.LabRecord} record */
  #chain(record) {
    const session = /** @type {Session} */ (this.session);
    const run = session.run;
    const steps = [];
    let cause = record.cause;
    while (run && cause !== null && steps.length < CHAIN) {
      const before = session.named(run.record(cause));
      const { seq } = before;
      const { id } = run.why(seq) ?? {};
      steps.push(el('li', {}, el('button', { type: 'button', on: { click: () => session.seekEvent(seq) } },
        el('time', { text: clock(before.at - run.origin) }), id ? el('code', { text: id }) : null, tell(before))));
      cause = before.cause;
    }
    return steps.length ? el('div', {}, el('h2', { text: t('inspect.chain') }), el('ol', { class: 'chain', 'aria-label': t('inspect.chain') }, ...steps)) : null;
  }

  #showSelection() {
    const session = /** @type {Session} */ (this.session);
    const run = session.run;
    const { selection } = session;
    if (!run || (selection.node === null && selection.ticket === null)) {
      if (this.who.dataset.of !== 'none' || this.#kind !== run?.kind) {
        this.who.dataset.of = 'none';
        this.#kind = run?.kind;
        fill(this.who, el('h2', { text: t('inspect.title') }), el('p', { text: t(run?.kind === 'trace' ? 'inspect.pick.trace' : 'inspect.pick') }), this.#picker(), this.#serverGesture());
      }
      return;
    }
    const of = `${selection.node}|${selection.ticket}|${run.kind}`;
    if (this.who.dataset.of !== of) {
      this.who.dataset.of = of;
      const node = selection.node === null ? undefined : run.node(selection.node);
      this.facts = el('dl', { class: 'facts' });
      fill(this.who, el('h2', { text: t('inspect.title') }),
        el('h3', {}, selection.name, node?.role === 'client' ? badge(node.dialect) : null),
        this.facts, this.#gestures());
    }
    this.#list(this.#factsOf());
  }

  /** @returns {[string, string][]} */
  #factsOf() {
    const { run, selection } = /** @type {Session} */ (this.session);
    if (!run) return [];
    const { queue } = run.inspect(run.server.id) ?? { queue: { cards: [], uploads: [] } };
    const name = (/** @type {{ticket: string, peer: string}} */ c) => c.ticket === selection.ticket || this.session?.nameOf(c.ticket, c.peer) === selection.name;
    /** @type {[string, string][]} */
    const facts = [];
    const card = /** @type {T.Card|undefined} */ (queue.cards.find(name));
    const slot = /** @type {T.SlotCard|undefined} */ (queue.uploads.find(name));
    if (card) {
      facts.push([t('inspect.position'), t('inspect.position.of', { position: card.position, length: queue.length, told: card.told })],
        [t('inspect.window'), t('inspect.window.of', { from: clock(card.not_before - run.origin), to: clock(card.deadline - run.origin) })],
        [t('inspect.wire'), t(card.present ? 'inspect.wire.kept' : 'inspect.wire.none')],
        [t('inspect.id'), card.ticket]);
    } else if (slot) {
      facts.push([t('inspect.position'), `${t('lane.slots')}, ${span(run.now - slot.since)}`], [t('inspect.file'), slot.file], [t('inspect.id'), slot.ticket]);
    }
    const peer = card?.peer ?? slot?.peer;
    if (peer) facts.unshift([t('inspect.address'), peer]);
    if (selection.node !== null) {
      const fetch = /** @type {T.FetchView|undefined} */ (run.inspect(selection.node)?.fetches?.[0]);
      if (fetch) {
        facts.push([t('inspect.download'), t('inspect.download.of', { have: fetch.have, size: fetch.size, state: fetch.state })]);
        for (const source of fetch.sources) facts.push([t('inspect.source'), source.state]);
      }
    }
    return facts;
  }

  /** @param {[string, string][]} facts */
  #list(facts) {
    const list = this.facts;
    if (!list) return;
    while (list.childElementCount > facts.length * 2) list.lastChild?.remove();
    facts.forEach(([key, value], i) => {
      if (list.childElementCount <= i * 2) list.append(el('dt'), el('dd'));
      setText(list.children[i * 2], key);
      setText(list.children[i * 2 + 1], value);
    });
  }

  #gestures() {
    const session = /** @type {Session} */ (this.session);
    if (session.run?.kind === 'trace') return el('p', { class: 'facts', text: t('gesture.trace') });
    return el('div', { class: 'gestures', role: 'group', 'aria-label': t('gesture.group', { name: session.selection.name }) },
      ...GESTURES.map(([gesture]) => el('button', { class: 'button small', type: 'button', data: { gesture }, text: t(`gesture.${gesture}`), on: { click: () => session.gesture(gesture) } })));
  }

  /** Any node, also one that stands on no board. */
  #picker() {
    const session = /** @type {Session} */ (this.session);
    const nodes = session.run?.nodes ?? [];
    if (nodes.length < 2) return null;
    const choice = el('select', { class: 'input picker', 'aria-label': t('inspect.pick') }, el('option', { value: '', text: '–' }), ...nodes.map((n) => el('option', { value: n.id, text: n.name })));
    choice.addEventListener('change', () => {
      const node = session.run?.node(Number(choice.value));
      if (node && choice.value) session.select({ node: node.id, ticket: null, name: node.name });
    });
    return choice;
  }

  #serverGesture() {
    const session = /** @type {Session} */ (this.session);
    if (session.run?.kind !== 'scenario') return null;
    return el('div', { class: 'gestures' }, el('button', { class: 'button small', type: 'button', data: { gesture: 'restart' }, text: t('gesture.restart.server'), on: { click: () => session.gesture('restart') } }));
  }

  /** @param {number} node @param {string} name */
  #showChanges(node, name) {
    const run = this.session?.run;
    if (!run) return;
    const changes = run.index > 0 ? run.diff(node).slice(0, CHANGES) : [];
    this.changes?.replaceChildren(el('h2', { text: t('inspect.diff', { name }) }),
      changes.length === 0 ? el('p', { text: t('inspect.diff.none') })
        : el('ul', { class: 'diff' }, ...changes.map(({ path, before, after }) => el('li', {}, el('code', { text: path }),
          el('span', {}, before === null ? null : el('del', { text: show(before, path, run.origin) }), ' ', after === null ? null : el('ins', { text: show(after, path, run.origin) }))))));
  }
}

customElements.define('lab-inspector', LabInspector);
