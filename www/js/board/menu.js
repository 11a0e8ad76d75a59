/** The menu of what can be done to a client: cut, ask, sleep, stall, restart. */
import { el } from '../dom.js';
import { t } from '../strings.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session.js' */

/** Gestures and their keys. */
export const GESTURES = /** @type {const} */ ([['cut', 'D'], ['ask_now', 'A'], ['sleep', 'Z'], ['stall', 'T'], ['resume', ''], ['restart', 'X'], ['crash', '']]);

/**
 * Opens the menu at a button; Escape or a click elsewhere closes it.
 * @param {Session} session
 * @param {T.Selection} target
 * @param {Element} anchor
 */
export function gestureMenu(session, target, anchor) {
  openMenu(anchor, t('gesture.group', { name: target.name }), GESTURES.map(([gesture, key]) => ({
    text: t(`gesture.${gesture}`), key, run: () => session.gesture(gesture, target),
  })));
}

/**
 * A menu at a button.
 * @param {Element} anchor
 * @param {string} label
 * @param {{text: string, key?: string, run: () => void}[]} items
 */
export function openMenu(anchor, label, items) {
  const menu = el('div', { class: 'menu', popover: 'auto', role: 'menu', 'aria-label': label },
    ...items.map(({ text, key, run }) => el('button', {
      type: 'button', role: 'menuitem', tabindex: '-1',
      on: { click: () => { menu.hidePopover(); run(); } },
    }, el('span', { text }), key ? el('kbd', { text: key, 'aria-hidden': 'true' }) : null)));
  menu.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const buttons = [...menu.querySelectorAll('button')];
    const here = buttons.indexOf(/** @type {any} */ (document.activeElement));
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    buttons[(to + buttons.length) % buttons.length].focus();
  });
  menu.addEventListener('toggle', (/** @type {any} */ event) => {
    if (event.newState !== 'closed') return;
    menu.remove();
    if (document.activeElement === document.body && anchor instanceof HTMLElement) anchor.focus();
  });
  document.body.append(menu);
  menu.showPopover();
  const at = anchor.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(at.right - width, innerWidth - width - 4))}px`;
  menu.style.top = `${Math.max(4, at.bottom + height + 8 > innerHeight ? at.top - height - 4 : at.bottom + 4)}px`;
  menu.querySelector('button')?.focus();
}
