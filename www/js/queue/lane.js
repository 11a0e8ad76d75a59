/** One lane: a list of cards of equal height, of which only those in sight exist. */
import { el, icon, setText } from '#lab/dom.js';
import { count } from '#lab/format.js';
import { t } from '#lab/strings.js';

/** Cards beyond the edge that exist already, so that scrolling never shows a gap. */
const MARGIN = 3;

const HINTS = { slots: 'upload', sync: 'wire', async: 'moon', grace: 'hourglass' };

export class Lane {
  /** @param {'slots'|'sync'|'async'|'grace'} id @param {() => void} moved */
  constructor(id, moved) {
    this.id = id;
    this.total = 0;
    this.count = el('span', { class: 'count' });
    this.list = el('ol', { class: 'lane-list' });
    this.hint = el('p', { class: 'lane-hint' }, icon(HINTS[id]), t(`lane.${id}.hint`));
    this.scroll = el('div', { class: 'lane-scroll', on: { scroll: moved } }, this.list, this.hint);
    this.node = el('div', { class: 'lane', role: 'group', data: { lane: id }, 'aria-label': t(`lane.${id}`) },
      el('div', { class: 'lane-head' }, el('h3', { text: t(`lane.${id}`) }), this.count, el('span', { class: 'note', text: t(`lane.${id}.note`) })),
      this.scroll);
  }

  /** The rows in sight. @param {number} height of a row */
  sight(height) {
    const from = Math.max(0, Math.floor(this.scroll.scrollTop / height) - MARGIN);
    const rows = Math.ceil((this.scroll.clientHeight || 400) / height) + 2 * MARGIN;
    return { from, to: from + rows };
  }

  /** @param {number} total @param {number} height of a row @param {number} shown what the head counts */
  size(total, height, shown = total) {
    setText(this.count, count(shown));
    const pixels = `${total * height}px`;
    if (this.list.style.height !== pixels) this.list.style.height = pixels;
    this.total = total;
  }

  /**
   * Puts the elements into the order of the line, touching only what is out
   * of place: a moved element would lose focus and motion.
   * @param {HTMLElement[]} nodes
   */
  order(nodes) {
    let next = this.list.firstElementChild;
    for (const node of nodes) {
      if (node === next) next = next.nextElementSibling;
      else this.list.insertBefore(node, next);
    }
    while (next) {
      const gone = next;
      next = next.nextElementSibling;
      gone.remove();
    }
  }
}
