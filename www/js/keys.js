/** The keyboard: one key, one deed. Single keys can be switched off in the sheet. */
import { el } from './dom.js';
import { remember } from './theme.js';
import { openDialog } from './panels/dialog.js';
import { badge } from './board/card.js';
import { t } from './strings.js';

/** @import { Session } from './session.js' */

/** Keys of the sheet: what they do, and how they are written. */
const SHEET = /** @type {[string, string[]][]} */ ([
  ['play', ['Space']], ['step', ['←', '→']], ['stepNode', ['⇧←', '⇧→']], ['speed', ['[', ']']], ['views', ['1', '2', '3']],
  ['cut', ['D']], ['ask', ['A']], ['sleep', ['Z']], ['stall', ['T']], ['restart', ['X']],
  ['branch', ['B']], ['undo', ['U']], ['search', ['/']], ['link', ['C']], ['cards', ['↑', '↓']], ['sheet', ['?']],
]);

const VIEWS = ['queue', 'compare', 'events'];

/**
 * @param {Session} session
 * @param {{copyLink: () => void, search: () => void}} deeds
 */
export function listen(session, deeds) {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {Element} */ (event.target);
    if (target.closest('input, select, textarea, dialog, [popover]')) return;
    // A focused button keeps its own space and enter.
    if (event.key === ' ' && target.closest('button, summary, a')) return;
    if (event.key === '?') return void sheet(session);
    if (!session.keys) return undefined;
    const deed = deedOf(event, session, deeds);
    if (!deed) return undefined;
    event.preventDefault();
    deed();
    return undefined;
  });
}

/**
 * @param {KeyboardEvent} event
 * @param {Session} session
 * @param {{copyLink: () => void, search: () => void}} deeds
 * @returns {(() => void)|undefined}
 */
function deedOf(event, session, deeds) {
  /** @type {Record<string, () => void>} */
  const all = {
    ' ': () => session.toggle(),
    ArrowLeft: () => session.step(-1, event.shiftKey),
    ArrowRight: () => session.step(1, event.shiftKey),
    '[': () => session.changeSpeed(-1),
    ']': () => session.changeSpeed(1),
    d: () => session.gesture('cut'),
    a: () => session.gesture('ask_now'),
    z: () => session.gesture('sleep'),
    t: () => session.gesture(session.stalled() ? 'resume' : 'stall'),
    x: () => session.gesture('restart'),
    b: () => session.nextBranch(),
    u: () => session.parentBranch(),
    c: deeds.copyLink,
    '/': deeds.search,
  };
  VIEWS.forEach((view, i) => { all[String(i + 1)] = () => session.setView(view); });
  return all[event.key.length === 1 ? event.key.toLowerCase() : event.key];
}

/** The sheet of keys and signs. @param {Session} session */
export function sheet(session) {
  const toggle = el('input', { type: 'checkbox', checked: session.keys });
  toggle.addEventListener('change', () => {
    session.keys = toggle.checked;
    remember('keys', toggle.checked ? 'on' : 'off');
  });
  openDialog(t('keys.title'),
    el('label', { class: 'check' }, toggle, t('keys.single')),
    el('dl', { class: 'sheet' }, ...SHEET.map(([key, caps]) => el('div', {}, el('dt', { text: t(`keys.${key}`) }), el('dd', {}, ...caps.map((c) => el('kbd', { text: c })))))),
    el('section', {}, el('h3', { class: 'section', text: t('keys.signs') }),
      el('p', { text: t('keys.signs.window') }),
      el('ul', { class: 'signs' }, ...['early', 'open', 'lost'].map((kind) => el('li', {}, el('span', { class: 'bar', 'aria-hidden': 'true' }, el('span', { class: kind })), t(`board.legend.${kind}`))),
        ...(/** @type {const} */ (['active', 'parq', 'parq11', 'passive'])).map((d) => el('li', {}, badge(d), t(`dialect.${d}.long`))))));
}
