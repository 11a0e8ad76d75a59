/** The keyboard: one key, one action. Single keys can be switched off in the sheet. */
import { el } from '#lab/dom.js';
import { projecting, remember } from '#lab/theme.js';
import { blacken } from '#lab/panels/black.js';
import { openDialog } from '#lab/panels/dialog.js';
import { isLocked } from '#lab/lock.js';
import { t } from '#lab/strings.js';
import { VIEWS } from '#lab/views.js';

/** @import { Session } from './session/session.js' */

/** Keys of every view: what they do, and how they are written. */
const SHEET = /** @type {[string, string[]][]} */ ([
  ['play', ['Space']], ['step', ['←', '→']], ['stepNode', ['⇧←', '⇧→']], ['speed', ['[', ']']], ['loss', ['.', ',']],
  ['views', VIEWS.map((_, i) => String(i + 1))], ['compare', ['V']], ['events', ['E']],
  ['branch', ['B']], ['parent', ['U']], ['undo', ['Ctrl Z', 'Ctrl ⇧ Z']], ['search', ['/']], ['future', ['H']], ['lesson', ['PgUp', 'PgDn']], ['skip', ['PgDn']], ['black', ['B', '.']], ['link', ['C']], ['sheet', ['?']],
]);

/** Keys that lead away from what a class looks at. */
const AWAY = ['e', 'v', '/', 'c'];

/** @typedef {{copyLink: () => void, future: () => void, search: () => void, lesson: (by: number) => void, view: (id: string) => void}} Deeds */

/**
 * @param {Session} session
 * @param {Deeds} deeds
 */
export function listen(session, deeds) {
  let clicked = false;
  document.addEventListener('pointerdown', () => { clicked = true; }, { capture: true });
  document.addEventListener('keydown', (event) => { if (event.key === 'Tab') clicked = false; }, { capture: true });
  // Firefox presses a button when the key is released.
  document.addEventListener('keyup', (event) => {
    if (event.key === ' ' && clicked && session.keys && !/** @type {Element} */ (event.target).closest('input, select, textarea, dialog, [popover]')) event.preventDefault();
  });
  document.addEventListener('keydown', (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.defaultPrevented || event.altKey || target.closest('input, select, textarea, dialog, [popover]')) return;
    if (event.ctrlKey || event.metaKey) return void takeBack(event, session);
    // A button one went to by keys keeps its own space; one that was clicked does not.
    if (event.key === ' ' && target.closest('button, summary, a') && !clicked) return;
    if (event.key === '?') return void sheet(session);
    if (!session.keys) return undefined;
    const action = deedOf(event, session, deeds);
    if (!action) return undefined;
    event.preventDefault();
    action();
    return undefined;
  });
}

/** What every editor does at these keys. @param {KeyboardEvent} event @param {Session} session */
function takeBack(event, session) {
  const key = event.key.toLowerCase();
  if (key !== 'z' && key !== 'y') return;
  event.preventDefault();
  if (key === 'y' || event.shiftKey) session.actions.redo();
  else session.actions.undo();
}

/**
 * @param {KeyboardEvent} event
 * @param {Session} session
 * @param {Deeds} deeds
 * @returns {(() => void)|undefined}
 */
function deedOf(event, session, deeds) {
  /** @type {Record<string, () => void>} */
  const all = {
    ' ': () => session.clock.toggle(),
    ArrowLeft: () => session.clock.step(-1, event.shiftKey),
    ArrowRight: () => session.clock.step(1, event.shiftKey),
    '[': () => session.clock.changeSpeed(-1),
    ']': () => session.clock.changeSpeed(1),
    '.': () => (projecting() ? blacken(session) : session.clock.toLoss(1)),
    ',': () => session.clock.toLoss(-1),
    ...session.view.keys(session),
    e: () => session.setMode(session.mode === 'events' ? 'single' : 'events'),
    v: () => session.setMode(session.mode === 'compare' ? 'single' : 'compare'),
    b: () => (projecting() ? blacken(session) : session.actions.nextBranch()),
    u: () => session.actions.parentBranch(),
    h: deeds.future,
    c: deeds.copyLink,
    '/': deeds.search,
    PageUp: () => deeds.lesson(-1),
    PageDown: () => deeds.lesson(1),
  };
  if (isLocked()) for (const key of AWAY) delete all[key];
  else VIEWS.forEach((view, i) => { all[String(i + 1)] = () => deeds.view(view); });
  return all[event.key.length === 1 ? event.key.toLowerCase() : event.key];
}

/** The sheet of keys and signs. @param {Session} session */
export function sheet(session) {
  const toggle = el('input', { type: 'checkbox', checked: session.keys });
  toggle.addEventListener('change', () => {
    session.keys = toggle.checked;
    remember('keys', toggle.checked ? 'on' : 'off');
  });
  const ease = el('input', { type: 'checkbox', checked: session.clock.ease.on, data: { ease: '' } });
  ease.addEventListener('change', () => {
    session.clock.ease.on = ease.checked;
    remember('ease', ease.checked ? 'on' : 'off');
  });
  openDialog(t('keys.title'),
    el('label', { class: 'check' }, toggle, t('keys.single')),
    el('label', { class: 'check' }, ease, t('keys.ease')),
    el('dl', { class: 'sheet' }, ...[...SHEET, ...session.view.sheet].map(([key, caps]) => el('div', {}, el('dt', { text: t(`keys.${key}`) }), el('dd', {}, ...caps.map((c) => el('kbd', { text: c })))))),
    el('section', {}, el('h3', { class: 'section', text: t('keys.signs') }), ...session.view.signs()));
}
