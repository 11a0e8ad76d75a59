/** Scrolls smoothly, and is soon there: a browser of its own takes the longer the farther it is. */
import { MOVE_MS, stillness } from '#lab/dom.js';

/** Where each was put last. @type {WeakMap<Element, {last: number}>} */
const going = new WeakMap();

/** @param {Element} node @param {number} top */
export function glide(node, top) {
  const [from, begun, to] = [node.scrollTop, performance.now(), Math.min(Math.max(0, top), node.scrollHeight - node.clientHeight)];
  const own = { last: from };
  going.set(node, own);
  const step = () => {
    // It is wanted elsewhere by now, or a person scrolls.
    if (going.get(node) !== own || Math.abs(node.scrollTop - own.last) > 1) return;
    const part = stillness() ? 1 : Math.min(1, (performance.now() - begun) / MOVE_MS);
    node.scrollTop = from + (to - from) * (1 - (1 - part) ** 3);
    own.last = node.scrollTop;
    if (part < 1) requestAnimationFrame(step);
  };
  step();
}
