/** What is folded away on a small screen: a button that opens it, and says whether it is open. */
import { el, icon, setAttr } from '#lab/dom.js';

/**
 * A part of the page the style sheet shows on a small screen only while it is
 * open. On a larger one it is always there, and its button is not.
 */
export class Fold {
  /**
   * @param {string} id
   * @param {HTMLElement} part
   * @param {{label?: string, changed?: () => void}} how what the button is called where its text does not say it
   * @param {...(Node|string)} words on the button
   */
  constructor(id, part, { label, changed }, ...words) {
    this.part = part;
    this.changed = changed;
    part.id = `fold-${id}`;
    this.button = el('button', { class: 'button plain fold', type: 'button', data: { unfold: id }, 'aria-controls': part.id, 'aria-expanded': 'false', 'aria-label': label, title: label, on: { click: () => this.set(!this.open) } }, ...words, icon('fold'));
  }

  get open() { return this.part.hasAttribute('data-open'); }

  /** @param {boolean} open */
  set(open) {
    // The keyboard's focus in a part that closes moves to its button.
    if (!open && this.part.contains(document.activeElement)) this.button.focus();
    setAttr(this.part, 'data-open', open ? '' : null);
    setAttr(this.button, 'aria-expanded', String(open));
    this.changed?.();
  }

  /**
   * It lies over the page: a choice in it closes it, and so do Escape and a
   * touch elsewhere.
   * @param {string} but what is chosen more than once
   */
  over(but) {
    // Before the choice is heard, so that a dialog gives the focus back to the button.
    this.part.addEventListener('click', (e) => {
      const choice = /** @type {Element} */ (e.target).closest('button');
      if (choice && !choice.matches(but)) this.set(false);
    }, { capture: true });
    document.addEventListener('pointerdown', (e) => {
      const at = /** @type {Node} */ (e.target);
      if (this.open && !this.part.contains(at) && !this.button.contains(at)) this.set(false);
    });
    document.addEventListener('keydown', (e) => {
      if (e.key === 'Escape' && this.open && !document.querySelector('dialog[open], :popover-open')) this.set(false);
    });
  }
}
