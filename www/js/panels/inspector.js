/** `<lab-inspector>`: the newest event and why, the selection, what changed, the whole state. */
import { el, fill, setAttr, setText } from '#lab/dom.js';
import { clock } from '#lab/format.js';
import { isHidden } from '#lab/session/future.js';
import { clauseButton } from '#lab/panels/clause.js';
import { reason, t, tell } from '#lab/strings.js';
import { show, tree } from '#lab/panels/tree.js';
import { questions, questionsOf } from '#lab/session/whatif.js';

/** @import * as T from '../types' */
/** @import { Run } from '../session/run.js' */
/** @import { Session } from '../session/session.js' */

/** How far the chain of causes is followed. */
const CHAIN = 5;
/** How far a rule for the selection is looked for. */
const NEAR = 3;
/** Changes shown of one event. */
const CHANGES = 12;
/** A longer list of nodes does not help a person choose. */
const PICKED = 500;
/** While playing the state is read this often, in milliseconds. */
const PAUSE_MS = 250;

export class LabInspector extends HTMLElement {
  #open = new Set(['state']);
  #due = 0;
  #shape = '';
  #kind = '';
  /** @type {HTMLElement|null} */ facts = null;
  /** @type {any} */ tools = el('div', {});

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.who = el('section', { class: 'who' });
    this.event = el('section', { class: 'event' });
    this.changes = el('section', {});
    this.state = el('section', {});
    this.replaceChildren(this.event, this.who, this.changes, this.state);
    for (const type of ['select', 'run', 'faults', 'play']) session.addEventListener(type, () => { this.#shape = ''; this.#due = 0; });
    session.addEventListener('frame', () => this.update());
    session.addEventListener('play', () => setAttr(this, 'data-playing', session.clock.playing ? '' : null));
  }

  update() {
    const { session } = this;
    const run = session?.run;
    if (!session || !run || performance.now() < this.#due) return;
    const shape = `${session.view.id}|${run.index}|${session.selection.ticket}|${session.selection.node}|${session.actions.branch}|${session.clock.playing ? '' : run.now}`;
    if (shape === this.#shape) return;
    this.#shape = shape;
    this.#due = session.clock.playing ? performance.now() + PAUSE_MS : 0;
    this.#showEvent();
    this.#showSelection();
    // Two worlds are compared for what changed: the picture goes first.
    clearTimeout(this.#later);
    if (!session.clock.playing) this.#later = window.setTimeout(() => session.guard(() => this.#showNode()));
  }
  #later = 0;

  /** What changed at a node, and its state. */
  #showNode() {
    const session = /** @type {Session} */ (this.session);
    const { run } = session;
    if (!run || session.clock.playing) return;
    const node = session.selection.node ?? session.current()?.node ?? run.home.id;
    const name = run.node(node)?.name ?? run.home.name;
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
      el('p', { class: 'sentence' }, el('time', { text: [clock(record.at - run.origin), run.side || run.way].filter(Boolean).join(' · ') }), tell(record)),
      this.#rule(rule, why, this.#numbers(record.seq, run)),
      this.#chain(record, run),
      session.clock.playing || session.selection.arrow !== undefined ? null : questionsOf(session));
    return undefined;
  }

  /** The numbers a record rests on, as a sentence; while it plays they change too fast to be read. @param {number} seq @param {Run} run */
  #numbers(seq, run) {
    if (this.session?.clock.playing) return '';
    const numbers = run.numbers(seq);
    return numbers ? t(`numbers.${numbers.key}`, { ...numbers, clock: (/** @type {number} */ us) => clock(us - run.origin) }) : '';
  }

  /** What was followed: the numbers, the rule, and where it stands. @param {string} rule @param {T.RecordReason|null} why @param {string} numbers */
  #rule(rule, why, numbers) {
    if (!rule && !why?.clause && !numbers) return null;
    const { id = null, clause = null } = why ?? {};
    return el('div', { class: 'why' }, el('h3', { text: t('inspect.why') }), numbers ? el('p', { class: 'numbers', text: numbers }) : null,
      rule ? el('p', { text: rule }) : null, id && clause ? clauseButton(id, clause) : null);
  }

  /** The records that led here, each a button that goes there. @param {T.LabRecord} record @param {Run|null} run */
  #chain(record, run) {
    const session = /** @type {Session} */ (this.session);
    const steps = [];
    let cause = record.cause;
    while (run && cause !== null && steps.length < CHAIN) {
      const before = run.named(run.record(cause));
      const { seq, at } = before;
      const { id } = run.why(seq) ?? {};
      steps.push(el('li', {}, el('button', { type: 'button', on: { click: () => (run === session.run ? session.clock.seekEvent(seq) : session.clock.seek(at)) } },
        el('time', { text: clock(before.at - run.origin) }), id ? el('code', { text: id }) : null, tell(before))));
      cause = before.cause;
    }
    return steps.length ? el('div', {}, el('h2', { text: t('inspect.chain') }), el('ol', { class: 'chain', 'aria-label': t('inspect.chain') }, ...steps)) : null;
  }

  #showSelection() {
    const session = /** @type {Session} */ (this.session);
    const run = session.run;
    const { selection, view } = session;
    const nothing = selection.node === null && selection.ticket === null;
    const of = nothing ? 'none' : `${view.id}|${selection.node}|${selection.ticket}|${run?.kind}`;
    if (!run) return;
    if (this.who.dataset.of !== of || nothing !== (this.facts === null) || this.#kind !== `${view.id}${run.kind}`) {
      this.who.dataset.of = of;
      this.#kind = `${view.id}${run.kind}`;
      const head = el('h2', { text: t('inspect.title') });
      this.facts = nothing ? null : el('dl', { class: 'facts' });
      this.tools = el('div', {});
      if (nothing) fill(this.who, head, el('p', { text: t(`${view.id}.pick${run.kind === 'trace' ? '.trace' : ''}`) }), this.#picker(), this.tools);
      else fill(this.who, head, el('h3', {}, selection.name, view.sign(session)), this.facts, view.about?.(session), this.tools, this.about = el('div', {}));
    }
    // Who runs now may have been down when the list was read.
    run.refreshNodes();
    this.#offer();
    if (nothing) return;
    this.#list(view.facts(session));
    const seq = view.event?.(session) ?? null;
    // What the selection is about may be known already, though it lies ahead.
    if (seq !== null && (!isHidden() || seq < run.index)) this.#why(seq);
    else if (seq !== null) fill(this.about);
  }

  /** Why the selection came to be: its own rule, or that of the nearest cause that has one. @param {number} seq */
  #why(seq) {
    const { run: first, other, selection } = /** @type {Session} */ (this.session);
    const run = selection.lane === 1 ? other : first;
    if (!run || seq >= run.count) return;
    const record = run.named(run.record(seq));
    /** @type {HTMLElement|null} */
    let rule = null;
    for (let at = /** @type {number|null} */ (seq), i = 0; at !== null && !rule && i < NEAR; i += 1) {
      const why = run.why(at);
      const { event, cause } = run.record(at);
      rule = this.#rule(why ? reason(why.key, { ...Object.values(event)[0], ...why.args }) : '', why, this.#numbers(at, run));
      at = cause;
    }
    fill(/** @type {Element} */ (this.about), rule, this.#chain(record, run));
  }

  /** @param {[string, string, number?][]} facts */
  #list(facts) {
    const list = this.facts;
    if (!list) return;
    while (list.childElementCount > facts.length * 2) list.lastChild?.remove();
    facts.forEach(([key, value, share], i) => {
      if (list.childElementCount <= i * 2) list.append(el('dt'), el('dd'));
      const said = /** @type {HTMLElement} */ (list.children[i * 2 + 1]);
      setText(list.children[i * 2], key);
      setText(said, value);
      setAttr(said, 'data-share', share === undefined ? null : '');
      if (share !== undefined) said.style.setProperty('--share', share.toFixed(3));
    });
  }

  /** What can be done to the selection as it is now: who was killed cannot be killed again. */
  #offer() {
    const session = /** @type {Session} */ (this.session);
    const offer = JSON.stringify([session.run?.kind, session.selection.name, session.selection.arrow, session.actions.branch > 0, session.run?.kind === 'trace' ? questions(session) : session.view.gestures(session)]);
    if (this.tools.dataset.offer === offer) return;
    const held = this.tools.contains(document.activeElement);
    this.tools.dataset.offer = offer;
    fill(this.tools, this.#gestures());
    if (held) this.tools.querySelector('button')?.focus();
  }

  #gestures() {
    const session = /** @type {Session} */ (this.session);
    const { run, view, selection } = session;
    const gestures = view.gestures(session);
    if (run?.kind === 'trace') return selection.arrow === undefined ? null : questionsOf(session);
    if (!gestures.length) return null;
    return el('div', { class: 'gestures', role: 'group', 'aria-label': t('gesture.group', { name: selection.name }) },
      ...gestures.map(({ gesture, text, key }) => el('button', { class: 'button small', type: 'button', data: { gesture }, text, title: key || null, on: { click: () => session.actions.gesture(gesture) } })));
  }

  /** Any node, also one that is not in the picture. */
  #picker() {
    const session = /** @type {Session} */ (this.session);
    const nodes = session.run?.nodes ?? [];
    if (nodes.length < 2 || nodes.length > PICKED) return null;
    const choice = el('select', { class: 'input picker', 'aria-label': t(`${session.view.id}.pick`) }, el('option', { value: '', text: t('inspect.choose') }), ...nodes.map((n) => el('option', { value: n.id, text: n.name })));
    choice.addEventListener('change', () => {
      const node = session.run?.node(Number(choice.value));
      if (node && choice.value) session.select({ node: node.id, ticket: null, name: node.name });
    });
    return choice;
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
