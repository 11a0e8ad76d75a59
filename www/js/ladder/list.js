/** The arrows in sight as a list, for those who do not see the picture or do not use a pointer. */
import { el, setAttr } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/** @import { MeetRun } from '../meet/run.js' */
/** @import { UnicastRun } from '../unicast/run.js' */

/** So many stand in the list at once, around the selected one. */
const AROUND = 40;

export class ArrowList {
  #shape = '';

  /** @param {(by: number) => void} move @param {(id: number) => void} choose @param {(arrow: any, run: any) => string} tell an arrow as a sentence */
  constructor(move, choose, tell) {
    this.tell = tell;
    this.node = el('div', {
      class: 'arrow-list', role: 'listbox', tabindex: '0', 'aria-label': t('arrow.list'),
      on: {
        keydown: (/** @type {KeyboardEvent} */ event) => {
          const by = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
          if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          event.stopPropagation();
          move(by);
        },
        focus: () => { if (!this.node.querySelector('[aria-selected="true"]')) move(0); },
        click: (/** @type {MouseEvent} */ event) => {
          const option = /** @type {Element} */ (event.target).closest('[role="option"]');
          if (option instanceof HTMLElement) choose(Number(option.dataset.arrow));
        },
      },
    });
  }

  /** @param {UnicastRun|MeetRun} run @param {{id: number}[]} seen in sight @param {number|null} selected */
  update(run, seen, selected) {
    const shape = `${run.edition}|${'profile' in run ? run.profile : ''}|${seen[0]?.id}|${seen.length}|${selected}`;
    if (shape === this.#shape) return;
    this.#shape = shape;
    const here = seen.findIndex((a) => a.id === selected);
    const from = Math.max(0, here - AROUND / 2);
    const options = seen.slice(from, from + AROUND).map((arrow) => el('div', {
      role: 'option', id: `arrow${arrow.id}`, data: { arrow: arrow.id }, 'aria-selected': String(arrow.id === selected), text: this.tell(arrow, run),
    }));
    this.node.replaceChildren(...options);
    this.node.hidden = options.length === 0;
    setAttr(this.node, 'aria-activedescendant', here >= 0 ? `arrow${selected}` : null);
    this.node.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }
}
