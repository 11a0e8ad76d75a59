/** The head of a unicast: its profile, what came of it so far, and both ends with their counters. */
import { el, setAttr, setText } from '#lab/dom.js';
import { count } from '#lab/format.js';
import { Outcomes } from '#lab/outcomes.js';
import { t } from '#lab/strings.js';

/** @import * as T from './types' */
/** @import { Lane } from './lane.js' */
/** @import { Session } from '../session/session.js' */

/** Cells of the window that are shown. */
const CELLS = 40;

/** What one of two pictures is called. @param {import('./run.js').UnicastRun} run */
export const titleOf = (run) => run.side || run.way || t(`profile.${run.profile}`);

export class Head {
  /** @param {Session} session @param {(node: number) => void} select */
  constructor(session, select) {
    this.title = el('h2', {});
    this.outcomes = new Outcomes(session);
    this.ends = [new End(select), new End(select)];
    this.node = el('section', { class: 'unicast-head' }, el('div', { class: 'unicast-title' }, this.title, this.outcomes.node), el('div', { class: 'ends' }, ...this.ends.map((end) => end.node)));
  }

  /** @param {Lane} lane @param {number|null} selected a node @param {boolean} only the one unicast there is */
  update(lane, selected, only) {
    const { run } = lane;
    setText(this.title, titleOf(run));
    setAttr(this.title, 'title', t(`profile.${run.profile}.long`));
    setAttr(this.node, 'data-only', only ? '' : null);
    setAttr(this.node, 'data-side', run.side ? '' : null);
    this.outcomes.update(run);
    lane.ends().forEach((id, i) => this.ends[i].update(run, id, i === 0 ? 'sender' : 'receiver', selected === id));
  }
}

/** A figure and its name stay on one line: it breaks behind a dot. @param {string} text */
const unbroken = (text) => text.replaceAll(/(?<!·) (?!·)/g, '\u00a0').replaceAll(' ·', '\u00a0·');

/** One end of the unicast: a button that selects the node. */
class End {
  /** @param {(node: number) => void} select */
  constructor(select) {
    this.id = 0;
    this.name = el('b', {});
    this.role = el('span', { class: 'role' });
    this.numbers = el('span', { class: 'numbers' });
    this.bits = el('span', { class: 'bits', 'aria-hidden': 'true' });
    this.node = el('button', { class: 'end', type: 'button', 'aria-pressed': 'false', on: { click: () => select(this.id) } }, el('span', {}, this.name, this.role), this.numbers, this.bits);
    this.shape = '';
  }

  /** @param {import('./run.js').UnicastRun} run @param {number} id @param {'sender'|'receiver'} side @param {boolean} selected */
  update(run, id, side, selected) {
    this.id = id;
    const node = /** @type {T.NodeInfo|undefined} */ (/** @type {unknown} */ (run.node(id)));
    const { up, peers } = run.margins(id);
    const half = peers.map((p) => p[side]).find(Boolean) ?? null;
    setText(this.name, node?.name ?? '');
    setAttr(this.name, 'title', node?.name ?? '');
    setText(this.role, up ? t(`end.${side}${half ? `.${half.state}` : ''}`) : t('end.down'));
    setAttr(this.node, 'data-end', side);
    setAttr(this.node, 'aria-pressed', String(selected));
    setAttr(this.node, 'data-down', up ? null : '');
    // Of an end that was not recorded it is not known how it stood.
    if (run.recorded && !run.recorded.has(id)) setText(this.numbers, '');
    else if (!half) setText(this.numbers, t('end.none'));
    else if ('ha' in half) setText(this.numbers, unbroken(t('end.sender.of', { ha: count(half.ha), hs: count(half.hs), rest: half.last - half.hs })));
    else setText(this.numbers, unbroken(t('end.receiver.of', { next: count(half.next), newest: count(half.newest), missing: half.missing_count })));
    this.#window(half && 'window' in half ? half.window : null);
  }

  /** What is here beyond the first gap. @param {{from: number, bits: string}|null} window */
  #window(window) {
    const bits = window?.bits.slice(0, CELLS) ?? '';
    const shape = `${window?.from}${bits}`;
    if (shape === this.shape) return;
    this.shape = shape;
    this.bits.replaceChildren(...[...bits].map((bit) => el('i', { data: { bit } })));
    this.bits.hidden = bits === '';
  }
}
