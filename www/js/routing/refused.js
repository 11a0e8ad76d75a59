/** A connection that did not come about: a line up to the wall, and a word. */
import { el, setText } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/** @import { Places } from './stage.js' */

/** Where the wall of a node stands, in radii; the line ends there. */
const WALL = 2.2;

export class Refused {
  line = el('span', { class: 'routing-refused', 'aria-hidden': 'true', hidden: true });
  word = el('span', { class: 'routing-word', 'aria-hidden': 'true', hidden: true });

  /** @param {{from: number, by: number}|undefined} refusal @param {Places} places @param {number} strength */
  show(refusal, { px, py, radius, width, height }, strength) {
    const { line, word } = this;
    line.hidden = word.hidden = !refusal;
    if (!refusal) return;
    const { from, by } = refusal;
    const [dx, dy] = [px[by] - px[from], py[by] - py[from]];
    const [all, r] = [Math.max(1, Math.hypot(dx, dy)), Math.max(radius, 3.5)];
    const long = Math.max(0, all - r - r * WALL);
    line.style.opacity = word.style.opacity = String(Math.max(0.15, strength));
    line.style.width = `${long}px`;
    line.style.transform = `translate(${px[from] + (dx * r) / all}px, ${py[from] + (dy * r) / all}px) rotate(${Math.atan2(dy, dx)}rad)`;
    setText(word, t('refused.word'));
    const part = (r + long) / all;
    const [wide, high] = [word.offsetWidth, word.offsetHeight];
    const [x, y] = [px[from] + dx * part * 0.8, py[from] + dy * part * 0.8];
    word.style.transform = `translate(${Math.max(2, Math.min(width - wide - 2, Math.round(x - wide / 2)))}px, ${Math.max(2, Math.min(height - high - 2, Math.round(y - high / 2)))}px)`;
  }
}
