/** What pointers do with a network: point, choose, open the menu, move, enlarge. */

/** @import { Stage } from '../stage.js' */

/** Less is a click, in pixels. */
const DRAG_PX = 5;

/** @param {Stage} stage */
export function pointing(stage) {
  const { node, camera } = stage;
  /** Fingers that are down. @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let dragged = false;
  /** Where a line begins that is being drawn. @type {{x: number, y: number}|null} */
  let began = null;
  const at = (/** @type {MouseEvent} */ event) => {
    const { left, top } = node.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const point = (/** @type {import('../stage.js').Thing|null} */ thing) => {
    if (thing?.kind === stage.pointed?.kind && thing?.i === stage.pointed?.i) return;
    stage.pointed = thing;
    node.style.cursor = thing ? 'pointer' : '';
    stage.deeds.touch();
  };
  node.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, at(event));
    dragged = down.size > 1;
    if (stage.deeds.drawn && !dragged) {
      began = at(event);
      node.setPointerCapture(event.pointerId);
    }
  });
  node.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
    const here = at(event);
    const before = down.get(event.pointerId);
    if (!before) return point(event.pointerType === 'mouse' ? stage.under(here.x, here.y) : null);
    if (began) return stage.draw(began, here);
    if (down.size === 2) pinch(event.pointerId, here);
    else if (dragged || Math.hypot(here.x - before.x, here.y - before.y) > DRAG_PX) {
      if (!dragged) node.setPointerCapture(event.pointerId);
      dragged = true;
      if (camera.zoom > 1) stage.look(() => camera.pan(here.x - before.x, here.y - before.y));
      down.set(event.pointerId, here);
    }
    return undefined;
  });
  /** @param {number} id @param {{x: number, y: number}} here */
  const pinch = (id, here) => {
    const [other] = [...down].filter(([key]) => key !== id).map(([, place]) => place);
    const before = /** @type {{x: number, y: number}} */ (down.get(id));
    const by = Math.hypot(here.x - other.x, here.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
    stage.look(() => {
      camera.enlarge(by, (here.x + other.x) / 2, (here.y + other.y) / 2);
      camera.pan((here.x - before.x) / 2, (here.y - before.y) / 2);
    });
    down.set(id, here);
  };
  for (const type of ['pointerup', 'pointercancel']) node.addEventListener(type, (/** @type {PointerEvent} */ event) => down.delete(event.pointerId));
  node.addEventListener('pointerup', (/** @type {PointerEvent} */ event) => {
    if (!began) return;
    const from = began;
    began = null;
    // The click that follows chooses nothing.
    dragged = true;
    stage.draw(null, from);
    stage.deeds.drawn?.(stage, from, at(event));
  });
  node.addEventListener('pointercancel', () => {
    began = null;
    stage.draw(null, { x: 0, y: 0 });
  });
  node.addEventListener('pointerleave', () => point(null));
  node.addEventListener('click', (/** @type {MouseEvent} */ event) => {
    if (dragged) {
      dragged = false;
      return;
    }
    const { x, y } = at(event);
    stage.deeds.choose(stage, stage.under(x, y));
  });
  node.addEventListener('contextmenu', (/** @type {MouseEvent} */ event) => {
    const { x, y } = at(event);
    const thing = stage.under(x, y);
    if (!thing) return;
    event.preventDefault();
    stage.deeds.choose(stage, thing);
    stage.deeds.menu(stage);
  });
  node.addEventListener('wheel', (/** @type {WheelEvent} */ event) => {
    const { x, y } = at(event);
    const by = Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016));
    // At its whole size the page scrolls on.
    if (by < 1 && camera.zoom === 1) return;
    event.preventDefault();
    stage.look(() => camera.enlarge(by, x, y));
  }, { passive: false });
}
