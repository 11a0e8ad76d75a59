/** What a run comes to: one line of totals, as the core counts them, up to the moment that is shown. */
import { el, setAttr, setText } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/** @import { Run } from './session/run.js' */
/** @import { Session } from './session/session.js' */

/** A figure that grows beyond its room gets so much at a time, in pixels. */
const STEP = 8;

/** While it plays the line is read this often, in milliseconds. */
const READ_MS = 150;

export class Outcomes {
  #due = 0;

  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.node = el('dl', { class: 'outcomes', tabindex: '0', 'aria-label': t('outcomes') });
    // What is shown when the clock stands is what is true then.
    // What grew for one run need not be so wide for the next.
    session.addEventListener('run', () => this.node.replaceChildren());
    for (const type of ['play', 'run', 'faults']) session.addEventListener(type, () => { this.#due = 0; session.clock.touch(); });
  }

  /** @param {Run} run */
  update(run) {
    const { session, node } = this;
    if (session.clock.playing && performance.now() < this.#due) return;
    this.#due = performance.now() + READ_MS;
    const rows = session.view.outcomes(run);
    if (node.childElementCount !== rows.length) node.replaceChildren(...rows.map(([key]) => el('div', { data: { outcome: key } }, el('dt', {}), el('dd', {}))));
    rows.forEach(([key, value], i) => {
      const row = node.children[i];
      setAttr(row, 'data-outcome', key);
      setAttr(row, 'title', t(`outcome.${key}.long`));
      setText(row.firstChild, t(`outcome.${key}`, { n: value === '1' ? 1 : 0 }));
      if (row.lastChild?.textContent === value) return;
      setText(row.lastChild, value);
      keep(/** @type {HTMLElement} */ (row));
    });
  }
}

/** What is as wide as it has been stays so: nothing beside it moves to and fro. @param {HTMLElement} row */
function keep(row) {
  const wide = row.offsetWidth;
  if (wide > (parseFloat(getComputedStyle(row).minInlineSize) || 0) + 1) row.style.setProperty('--kept', `${Math.ceil(wide / STEP) * STEP}px`);
}
