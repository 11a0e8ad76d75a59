/** A menu at a button: what can be done there. */
import { el } from '#lab/dom.js';

/**
 * A menu at a button.
 * @param {Element} anchor
 * @param {string} label
 * @param {{text: string, key?: string, lang?: string, chosen?: boolean, run: () => void}[]} items `chosen`: one of several, and whether it is the one
 */
export function openMenu(anchor, label, items) {
  const menu = el('div', { class: 'menu', popover: 'auto', role: 'menu', 'aria-label': label },
    ...items.map(({ text, key, lang, chosen, run }) => el('button', {
      type: 'button', role: chosen === undefined ? 'menuitem' : 'menuitemradio', tabindex: '-1', lang, 'aria-checked': chosen === undefined ? undefined : String(chosen),
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
