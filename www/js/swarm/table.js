/** The same as a table: for people who do not see the picture, or would rather read. */
import { el, fill, setAttr, setText } from '#lab/dom.js';
import { count, percent } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { GIVEN, HELD } from '#lab/swarm/run.js';
import { brief, nameOf } from '#lab/swarm/words.js';

/** @import { SwarmRun } from './run.js' */

/** Rows of a page of the table. */
const PAGE = 50;
const COLUMNS = /** @type {const} */ (['name', 'mode', 'have', 'missing', 'gets', 'gives', 'ratio', 'credit', 'state']);
/** So many pieces are named one by one. */
const NAMED = 6;

export class SwarmTable {
  from = 0;
  #shape = '';

  /** @param {(row: number) => void} choose @param {() => void} turn another page is wanted */
  constructor(choose, turn) {
    this.caption = el('caption', {});
    this.body = el('tbody', {});
    const go = (/** @type {number} */ by) => () => { this.from = Math.max(0, this.from + by * PAGE); turn(); };
    this.back = el('button', { class: 'button small', type: 'button', text: t('table.back'), on: { click: go(-1) } });
    this.forth = el('button', { class: 'button small', type: 'button', text: t('table.forth'), on: { click: go(1) } });
    this.table = el('table', { class: 'swarm-table' }, this.caption, el('thead', {}, el('tr', {}, ...COLUMNS.map((id) => el('th', { scope: 'col', text: t(`table.${id}`) })))), this.body);
    this.pages = el('div', { class: 'swarm-pages' }, this.back, this.forth);
    this.node = el('div', { class: 'swarm-words', role: 'region', 'aria-label': t('table.label') }, this.pages, this.table);
    this.body.addEventListener('click', (/** @type {MouseEvent} */ event) => {
      const button = /** @type {Element} */ (event.target).closest('button');
      if (button) choose(Number(button.dataset.row));
    });
  }

  /** @param {SwarmRun} run @param {number|null} selected @param {boolean} shown or only read out */
  update(run, selected, shown) {
    setAttr(this.node, 'tabindex', shown ? '0' : null);
    if (this.from >= run.rows.length) this.from = 0;
    const shape = `${run.stamp}|${this.from}|${selected}|${shown}`;
    if (shape === this.#shape) return;
    this.#shape = shape;
    const until = Math.min(run.rows.length, this.from + PAGE);
    setText(this.caption, t('table.caption', { from: this.from + 1, to: until, of: run.rows.length, pieces: run.pieces, policy: t(`policy.${run.policy}`) }));
    this.pages.hidden = !shown || run.rows.length <= PAGE;
    this.back.disabled = this.from === 0;
    this.forth.disabled = until >= run.rows.length;
    fill(this.body, ...run.rows.slice(this.from, until).map((_, i) => this.#row(run, this.from + i, selected, shown)));
  }

  /** @param {SwarmRun} run @param {number} row @param {number|null} selected @param {boolean} shown */
  #row(run, row, selected, shown) {
    const client = run.rows[row];
    const gets = run.transfers.filter((f) => f.taker === row).map((f) => t('table.gets.of', { piece: f.piece, from: nameOf(run, f.giver), share: percent(f.share) }));
    const gives = run.transfers.filter((f) => f.giver === row).map((f) => t('table.gives.of', { piece: f.piece, to: nameOf(run, f.taker) }));
    const texts = [t(client.active ? 'mode.active' : 'mode.passive'), t('table.have.of', { have: client.have, of: run.pieces }), missing(run, row), gets.join('; ') || '–', gives.join('; ') || '–',
      t('table.ratio.of', client), String(client.credit), brief(client, true)];
    return el('tr', { 'aria-current': selected === row ? 'true' : null },
      el('th', { scope: 'row' }, shown ? el('button', { class: 'linkish', type: 'button', data: { row }, 'aria-pressed': String(selected === row), text: client.name }) : client.name), ...texts.map((text) => el('td', { text })));
  }
}

/** Pieces a client has not, as ranges. @param {SwarmRun} run @param {number} row */
export function missing(run, row) {
  /** @type {[number, number][]} */
  const ranges = [];
  for (let piece = 0; piece < run.pieces; piece += 1) {
    const state = run.cells[row * run.pieces + piece];
    if (state === HELD || state === GIVEN) continue;
    const last = ranges.at(-1);
    if (last && last[1] === piece - 1) last[1] = piece;
    else ranges.push([piece, piece]);
  }
  if (!ranges.length) return '–';
  return ranges.slice(0, NAMED).map(([a, b]) => (a === b ? count(a) : `${count(a)}–${count(b)}`)).join(', ') + (ranges.length > NAMED ? ' …' : '');
}
