/** Cards that change lanes fly: first and last place are measured, a copy travels between. */
import { MOVE_MS, stillness } from '#lab/dom.js';

/** More at once would be a flurry that explains nothing. */
const AT_ONCE = 10;
/** How long a flight takes, in milliseconds, up to a speed; beyond the last no eye could follow it. */
const LENGTHS = /** @type {const} */ ([[10, MOVE_MS], [50, 160]]);

/** @typedef {{node: HTMLElement, from: DOMRect, fade: boolean}} Leaving */

export class Flight {
  /** Copies on their way, by the key of their card. @type {Map<string, Animation>} */
  #moving = new Map();

  /** @param {HTMLElement} overlay the layer the copies travel in */
  constructor(overlay) {
    this.overlay = overlay;
    /** @type {Leaving[]} */
    this.leaving = [];
  }

  /** Remembers where a card is before it moves. @param {HTMLElement} node @param {boolean} [fade] it goes nowhere */
  note(node, fade = false) {
    if (stillness() || this.leaving.length >= AT_ONCE || !node.isConnected) return;
    const from = node.getBoundingClientRect();
    if (from.width > 0) this.leaving.push({ node, from, fade });
  }

  /** Ends every flight at once. */
  land() {
    this.leaving = [];
    for (const motion of [...this.#moving.values()]) motion.cancel();
    this.overlay.replaceChildren();
  }

  /**
   * Lets every remembered card travel to where it is now, or to `sink` when
   * it has left the picture.
   * @param {Element|null} sink
   * @param {number} speed of the clock
   */
  fly(sink, speed) {
    if (!this.leaving.length) return;
    const ms = LENGTHS.find(([upTo]) => speed <= upTo)?.[1];
    if (ms === undefined) return this.land();
    const home = this.overlay.getBoundingClientRect();
    for (const leaving of this.leaving) this.#launch(leaving, home, sink, ms);
    this.leaving = [];
    return undefined;
  }

  /** @param {Leaving} leaving @param {DOMRect} home @param {Element|null} sink @param {number} ms */
  #launch({ node, from, fade }, home, sink, ms) {
    const gone = !node.isConnected;
    const to = fade ? from : (gone ? sink : node)?.getBoundingClientRect();
    if (!to || to.width === 0 || (!fade && Math.abs(to.x - from.x) < 2 && Math.abs(to.y - from.y) < 2)) return;
    const key = node.dataset.key ?? '';
    this.#moving.get(key)?.cancel();
    const copy = /** @type {HTMLElement} */ (node.cloneNode(true));
    copy.classList.remove('travelling');
    copy.inert = true;
    copy.setAttribute('aria-hidden', 'true');
    copy.style.cssText += `left:${from.x - home.x}px;top:${from.y - home.y}px;width:${from.width}px;height:${from.height}px`;
    this.overlay.append(copy);
    if (!gone) node.classList.add('travelling');
    const path = `${to.x - from.x}px ${to.y - from.y}px`;
    const frames = gone ? [{ opacity: 1 }, { translate: path, scale: fade ? '0.9' : '0.3', opacity: 0 }] : [{}, { translate: path }];
    const motion = copy.animate(frames, { duration: ms, easing: 'cubic-bezier(0.22, 0.8, 0.28, 1)' });
    this.#moving.set(key, motion);
    const end = () => {
      copy.remove();
      node.classList.remove('travelling');
      if (this.#moving.get(key) === motion) this.#moving.delete(key);
    };
    motion.onfinish = end;
    motion.oncancel = end;
  }
}
