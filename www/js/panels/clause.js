/** The passage a decision follows, restated, among its neighbours. */
import { chapter } from '#servent';
import { el } from '#lab/dom.js';
import { openDialog } from '#lab/panels/dialog.js';
import { t } from '#lab/strings.js';

/** Where a rule stands, in words. @param {string} clause */
export function placeOf(clause) {
  if (clause.startsWith('lines')) return t('clause.lines', { lines: clause });
  return clause === 'not in the text' ? t('clause.own') : clause;
}

/** A button that opens the passage of a requirement. @param {string} id @param {string} clause */
export function clauseButton(id, clause) {
  return el('button', { class: 'clause linkish', type: 'button', 'aria-haspopup': 'dialog', title: t('clause.open', { id }), data: { clause: id }, on: { click: () => openClause(id) } },
    el('span', { text: placeOf(clause) }), el('code', { text: id }));
}

/** @param {string} id */
export function openClause(id) {
  const found = chapter(id);
  if (!found) return;
  const passage = (/** @type {{id: string, text: string}} */ { id: own, text }) => el('li', { 'aria-current': own === id ? 'true' : null }, el('code', { text: own }), el('p', { text }));
  const list = el('ol', { class: 'passages' }, ...found.passages.map(passage));
  const dialog = openDialog(found.title, el('section', {}, el('h3', { class: 'section', text: found.name }), list), el('p', { class: 'passages-note', text: t('clause.note') }));
  dialog.dataset.passage = id;
  list.querySelector('[aria-current]')?.scrollIntoView({ block: 'center' });
}
