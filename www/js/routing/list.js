/** The network as words: the node one stands at, its neighbours and links, and what is in flight. */
import { el, setAttr } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import { linkName, messageName, title } from '#lab/routing/words.js';

/** @import { Stage, Thing } from './stage.js' */

/** So many neighbours, and so many messages stand in the list. */
const [NEIGHBOURS, MESSAGES] = [24, 12];
const WAYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

export class NodeList {
  #shape = '';

  /** @param {{go: (x: number, y: number) => void, choose: (thing: Thing) => void, menu: () => void}} deeds */
  constructor(deeds) {
    this.node = el('div', {
      class: 'routing-list', role: 'listbox', tabindex: '0', 'aria-label': t('routing.list'),
      on: {
        keydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
          const way = WAYS[/** @type {keyof typeof WAYS} */ (event.key)];
          if (!way && event.key !== 'Enter') return;
          event.preventDefault();
          event.stopPropagation();
          if (way) deeds.go(way[0], way[1]);
          else deeds.menu();
        },
        focus: () => { if (!this.node.querySelector('[aria-selected="true"]')) deeds.go(0, 0); },
        click: (/** @type {MouseEvent} */ event) => {
          const option = /** @type {Element} */ (event.target).closest('[role="option"]');
          if (option instanceof HTMLElement) deeds.choose({ kind: /** @type {Thing['kind']} */ (option.dataset.kind), i: Number(option.dataset.i) });
        },
      },
    });
  }

  /** @param {Stage} stage @param {Thing|null} selected */
  update(stage, selected) {
    const { run, messages } = stage;
    const here = selected?.kind === 'node' ? selected.i : selected?.kind === 'link' ? run.links.a[selected.i] : run.home.id;
    const first = messages.flying.count ? run.flights.id[messages.flying.list[0]] : -1;
    const shape = `${run.edition}|${run.generation}|${selected?.kind}|${selected?.i}|${first}|${messages.flying.count}`;
    if (shape === this.#shape) return;
    this.#shape = shape;
    const option = (/** @type {Thing} */ thing, /** @type {string} */ text) => {
      const is = thing.kind === selected?.kind && thing.i === selected.i;
      return el('div', { role: 'option', id: `routing-${thing.kind}-${thing.i}`, data: thing, 'aria-selected': String(is), text });
    };
    /** @type {Thing[]} */
    const around = [];
    for (let k = run.near.from[here]; k < Math.min(run.near.from[here + 1], run.near.from[here] + NEIGHBOURS); k += 1) around.push({ kind: 'node', i: run.near.to[k] });
    const links = around.map(({ i }) => /** @type {Thing} */ ({ kind: 'link', i: run.linkOf(here, i) })).filter(({ i }) => i >= 0);
    const sent = /** @type {Thing[]} */ ([...messages.flying.list.subarray(0, Math.min(MESSAGES, messages.flying.count))].map((i) => ({ kind: 'message', i })));
    // What is selected stands in the list in any case.
    if (selected?.kind === 'message' && !sent.some(({ i }) => i === selected.i)) sent.unshift(selected);
    this.node.replaceChildren(
      option({ kind: 'node', i: here }, title(run, { kind: 'node', i: here })),
      ...around.map((thing) => option(thing, t('routing.list.neighbour', { name: title(run, thing), of: run.name(here) }))),
      ...links.map((thing) => option(thing, t('routing.list.link', { name: linkName(run, thing.i), up: run.links.up[thing.i] === 1 }))),
      ...sent.map((thing) => option(thing, t('routing.list.message', { name: messageName(run, thing.i) }))));
    const current = this.node.querySelector('[aria-selected="true"]');
    setAttr(this.node, 'aria-activedescendant', current?.id ?? null);
    current?.scrollIntoView({ block: 'nearest' });
  }
}
