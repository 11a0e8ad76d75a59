/** Cards that change lanes fly: first and last place are measured, a copy travels between. */
import { stillness } from '../dom.js';

/** More at once would be a flurry that explains nothing. */
const AT_ONCE = 10;

export class Flight {
  /** @param {HTMLElement} overlay the layer the copies travel in */
  constructor(overlay) {
    this.overlay = overlay;
    /** @type {{node: HTMLElement, from: DOMRect}[]} */
    this.leaving = [];
  }

  /** Remembers where a card is before it moves. @param {HTMLElement} node */
  note(node) {
    if (stillness() || this.leaving.length >= AT_ONCE || !node.isConnected) return;
    const from = node.getBoundingClientRect();
    if (from.width > 0) this.leaving.push({ node, from });
  }

  /**
   * Lets every remembered card travel to where it is now, or to `sink` when
   * it has left the board.
   * @param {Element|null} sink
   * @param {number} ms
   */
  fly(sink, ms) {
    if (!this.leaving.length) return;
    const home = this.overlay.getBoundingClientRect();
    for (const { node, from } of this.leaving) {
      const gone = !node.isConnected;
      const to = (gone ? sink : node)?.getBoundingClientRect();
      if (!to || to.width === 0 || (Math.abs(to.x - from.x) < 2 && Math.abs(to.y - from.y) < 2)) continue;
      const copy = /** @type {HTMLElement} */ (node.cloneNode(true));
      copy.inert = true;
      copy.setAttribute('aria-hidden', 'true');
      copy.style.cssText += `left:${from.x - home.x}px;top:${from.y - home.y}px;width:${from.width}px;height:${from.height}px`;
      this.overlay.append(copy);
      if (!gone) node.classList.add('travelling');
      const path = `${to.x - from.x}px ${to.y - from.y}px`;
      const frames = gone ? [{ opacity: 1 }, { translate: path, scale: '0.3', opacity: 0 }] : [{}, { translate: path }];
      const motion = copy.animate(frames, { duration: ms, easing: 'cubic-bezier(0.22, 0.8, 0.28, 1)' });
      const end = () => {
        copy.remove();
        node.classList.remove('travelling');
      };
      motion.onfinish = end;
      motion.oncancel = end;
    }
    this.leaving = [];
  }
}
