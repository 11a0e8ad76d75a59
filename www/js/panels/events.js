/** `<event-table>`: every event of the run in a real table, of which only the rows in sight exist. */
import { announce, el, setText } from '#lab/dom.js';
import { clock, count } from '#lab/format.js';
import { isHidden } from '#lab/session/future.js';
import { Finder, kindOf } from '#lab/search.js';
import { t, tell } from '#lab/strings.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session/session.js' */

const MARGIN = 8;
/** How many events fit is said once the typing has stopped for so long. */
const SAY_MS = 700;
/** What a search may take of a frame, in milliseconds. */
const LOOK_MS = 6;
/** Records that fit a filter are gathered up to this many. */
const FOUND = 5000;

export class EventTable extends HTMLElement {
  #shape = '';
  /** @type {T.LabRecord[]|null} */ #found = null;
  #foundFor = '';

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.filter = el('input', { class: 'input', type: 'search', placeholder: t('events.placeholder'), 'aria-label': t('events.filter'), on: { input: () => this.#refilter() } });
    this.shown = el('span', { class: 'shown' });
    this.body = el('tbody');
    const head = /** @type {const} */ (['num', 'at', 'who', 'kind', 'what']).map((id) => el('th', { scope: 'col', class: id === 'at' ? 'when' : id, text: t(`events.col.${id}`) }));
    this.frame = el('div', { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': t('mode.events'), on: { scroll: () => session.clock.touch() } },
      el('table', { class: 'events' }, el('caption', { class: 'quiet', text: t('events.caption') }), el('thead', {}, el('tr', {}, ...head)), this.body));
    this.replaceChildren(el('div', { class: 'table-tools' }, this.filter, this.shown), this.frame);
    this.body.addEventListener('click', (/** @type {MouseEvent} */ e) => {
      const row = /** @type {Element} */ (e.target).closest('tr');
      if (row?.dataset.seq) session.clock.seekEvent(Number(row.dataset.seq));
    });
    for (const type of ['frame', 'known', 'faults', 'future']) session.addEventListener(type, () => this.update());
    session.addEventListener('find', () => {
      if (this.query !== session.sought.query) this.filter.value = session.sought.query;
    });
    session.addEventListener('view', () => {
      this.#centered = false;
      this.#shape = '';
    });
    session.addEventListener('run', () => {
      this.#foundFor = '';
      this.#runs += 1;
      this.#shape = '';
    });
  }
  #finder = new Finder();
  /** Runs that were shown. */
  #runs = 0;

  /** What is searched for. */
  get query() { return this.filter?.value.trim() ?? ''; }

  /** Another filter begins at its first event. */
  #refilter() {
    if (this.frame) this.frame.scrollTop = 0;
    this.session?.find(this.query);
    this.session?.clock.touch();
    clearTimeout(this.#said);
    this.#said = window.setTimeout(() => announce(this.shown?.textContent ?? ''), SAY_MS);
  }
  #said = 0;

  /** The newest event was brought into sight since the view was opened. */
  #centered = false;

  update() {
    const { session } = this;
    const run = session?.run;
    if (!session || !run || this.hidden) return;
    const wanted = this.query;
    const key = `${wanted}|${run.count}|${session.actions.branch}`;
    if (wanted && this.#foundFor !== key) {
      const done = this.#finder.look(run, wanted, `${session.actions.branch}|${this.#runs}`, LOOK_MS, FOUND);
      this.#found = this.#finder.found;
      if (done && !isHidden()) this.#foundFor = key;
      else session.clock.touch();
    } else if (!wanted) this.#found = null;
    if (isHidden()) this.#found &&= this.#found.filter(({ seq }) => seq < run.index);
    const total = this.#found?.length ?? (isHidden() ? run.index : run.count);
    setText(this.shown, total ? t('events.shown', { n: total }) : t('events.none'));
    const row = parseFloat(getComputedStyle(document.documentElement).fontSize) * parseFloat(getComputedStyle(this).getPropertyValue('--row'));
    if ((session.clock.playing || !this.#centered) && !this.#found) this.frame.scrollTop = Math.max(0, run.index * row - this.frame.clientHeight / 2);
    if (!this.#centered && !this.#found) {
      // The first drawing gives the table its height, the second finds the place.
      this.#centered = this.#shape !== '';
      session.clock.touch();
    }
    const from = Math.max(0, Math.min(total - 1, Math.floor(this.frame.scrollTop / row) - MARGIN));
    const rows = Math.ceil((this.frame.clientHeight || 480) / row) + 2 * MARGIN;
    const records = this.#found ? this.#found.slice(from, from + rows) : run.records(from, Math.min(rows, total - from), '');
    const below = Math.max(0, total - from - records.length) * row;
    // Rows that stay are left alone, so that a click on one is never lost
    // while the future is still being found out.
    const shape = `${wanted}|${from}|${records.length}|${records[0]?.seq}|${run.index}|${session.actions.branch}|${session.title}`;
    if (shape === this.#shape) {
      /** @type {HTMLElement} */ (this.body.lastElementChild?.firstElementChild).style.height = `${below}px`;
      return;
    }
    this.#shape = shape;
    this.body.replaceChildren(pad(from * row), ...records.map((r) => this.#row(r)), pad(below));
  }

  /** @param {T.LabRecord} record */
  #row(record) {
    const session = /** @type {Session} */ (this.session);
    const run = /** @type {import('../session/run.js').Run} */ (session.run);
    const current = record.seq === run.index - 1;
    return el('tr', { data: { seq: record.seq }, class: record.seq >= run.index ? 'future' : null, 'aria-current': current ? 'true' : null },
      el('td', { class: 'num' }, el('button', { type: 'button', 'aria-label': t('events.goto', { i: count(record.seq + 1) }), text: count(record.seq + 1) })),
      el('td', { class: 'when', text: clock(record.at - run.origin) }),
      el('td', { class: 'who', text: record.node_name }),
      el('td', { class: 'kind', text: kindOf(record), title: kindOf(record) }),
      el('td', { class: 'what', text: tell(session.named(record)) }));
  }
}

/** Rows that are not there take their room all the same. @param {number} height */
function pad(height) {
  const cell = el('td');
  cell.style.height = `${height}px`;
  return el('tr', { class: 'pad', 'aria-hidden': 'true' }, cell);
}

customElements.define('event-table', EventTable);
