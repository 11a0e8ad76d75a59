/** A list whose rows stay the same elements while what they say changes, so that none moves away under a finger. */
import { el, fill, setAttr, setText } from '#lab/dom.js';

/** @typedef {[string, () => void]} Act */
/** @typedef {{key: string|number, name: string, note: string, part?: number, hue?: number, act?: Act, also?: Act, third?: Act, primary?: boolean}} Row */

export class Rows {
  /** @type {Map<string|number, {node: any, name: any, note: any, bar: any, acts: any, said: string, does: Act[]}>} */ #rows = new Map();
  #empty = el('li', { class: 'part-empty' });

  /** @param {any} list */
  constructor(list) { this.list = list; }

  /** @template T @param {T[]} items @param {string} empty what stands for none @param {(item: T) => Row} row */
  show(items, empty, row) {
    const rows = items.map(row);
    setText(this.#empty, empty);
    const keys = new Set(rows.map(({ key }) => key));
    for (const [key, { node }] of this.#rows) {
      if (keys.has(key)) continue;
      node.remove();
      this.#rows.delete(key);
    }
    rows.forEach((wanted, at) => {
      const { node } = this.#update(wanted);
      if (this.list.children[at] !== node) this.list.insertBefore(node, this.list.children[at] ?? null);
    });
    if (rows.length) this.#empty.remove();
    else if (!this.#empty.isConnected) this.list.append(this.#empty);
  }

  /** @param {Row} row */
  #update({ key, name, note, part, hue, act, also, third, primary }) {
    const known = this.#rows.get(key) ?? this.#make(key);
    setText(known.name, name);
    setText(known.note, note);
    known.bar.hidden = part === undefined;
    if (part !== undefined) known.bar.style.setProperty('--part', String(Math.min(1, part)));
    known.node.style.setProperty('--hue', String(hue ?? 0));
    setAttr(known.node, 'data-hue', hue === undefined ? null : '');
    const acts = /** @type {Act[]} */ ([act, also, third].filter(Boolean));
    known.does = acts;
    const said = acts.map(([text]) => text).join('\n');
    if (said !== known.said) {
      known.said = said;
      fill(known.acts, ...acts.map(([text], i) => el('button', { class: `button small ${primary && i === 0 ? 'primary' : ''}`, type: 'button', text, 'aria-label': `${text}: ${name}`, on: { click: () => known.does[i]?.[1]() } })));
    }
    return known;
  }

  /** @param {string|number} key */
  #make(key) {
    const [name, note, bar, acts] = [el('b'), el('small'), el('i', { class: 'part-bar', 'aria-hidden': 'true' }), el('span', { class: 'part-acts' })];
    const node = el('li', {}, el('span', { class: 'part-words' }, name, note, bar), acts);
    const row = { node, name, note, bar, acts, said: '', does: /** @type {Act[]} */ ([]) };
    this.#rows.set(key, row);
    return row;
  }
}
