/** What the pointer does in the swarm: point, choose, open the menu. */
import { setText } from '#lab/dom.js';
import { openMenu } from '#lab/panels/menu.js';
import { t } from '#lab/strings.js';
import { gesturesOf } from '#lab/swarm/gestures.js';
import { sentence } from '#lab/swarm/words.js';

/** @import { SwarmPane } from './pane.js' */

/** What is said keeps so far from the pointer, and from the edges. */
const [APART, EDGE, LOW] = [14, 6, 70];

/** @param {SwarmPane} pane */
export function point(pane) {
  const { canvas, tip, anchor, scroller } = pane;
  if (!canvas || !tip || !anchor || !scroller) return;
  const hit = (/** @type {MouseEvent} */ event) => {
    const { left, top } = scroller.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    for (const lane of pane.both()) {
      const place = lane.grid.at(x, y);
      if (place) return { lane, place, x, y };
    }
    return { lane: null, place: null, x, y };
  };
  canvas.addEventListener('pointermove', (event) => {
    const { lane, place, x, y } = hit(event);
    pane.pointed = place;
    pane.in = lane;
    tip.hidden = event.pointerType !== 'mouse' || !place || (place.row === null && place.piece === null);
    if (place && lane) setText(tip, sentence(lane.run, place));
    const half = tip.offsetWidth / 2;
    const above = y > scroller.clientHeight - LOW;
    tip.style.translate = `${Math.round(Math.min(scroller.clientWidth - half - EDGE, Math.max(half + EDGE, x)) - half)}px ${Math.round(above ? y - tip.offsetHeight - APART : y + APART + EDGE)}px`;
    canvas.style.cursor = place ? 'pointer' : '';
    pane.session?.clock.touch();
  });
  canvas.addEventListener('pointerleave', () => {
    pane.pointed = pane.in = null;
    tip.hidden = true;
    pane.session?.clock.touch();
  });
  canvas.addEventListener('click', (event) => {
    const { lane, place } = hit(event);
    if (lane && place) pane.cursor = place.row === null ? null : place;
    if (lane && place) pane.choose(lane, place);
  });
  canvas.addEventListener('contextmenu', (event) => {
    const { lane, place, x, y } = hit(event);
    const { session } = pane;
    if (!lane || !place || place.row === null || !session) return;
    event.preventDefault();
    pane.choose(lane, place);
    const { selection } = session;
    const items = gesturesOf(session).map(({ gesture, text, key }) => ({ text, key, run: () => session.actions.gesture(gesture, selection) }));
    anchor.style.translate = `${x + scroller.scrollLeft}px ${y + scroller.scrollTop}px`;
    if (items.length) openMenu(anchor, t('gesture.group', { name: selection.name }), items);
  });
}
