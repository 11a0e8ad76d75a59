/** A black screen: the teacher wants to be looked at. Any key or click brings the page back. */
import { announce, el } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/** @import { Session } from '../session/session.js' */

/** @param {Session} session */
export function blacken(session) {
  session.clock.pause();
  const dialog = /** @type {HTMLDialogElement} */ (el('dialog', { class: 'black', 'aria-label': t('black.screen'), tabindex: '-1' }));
  const back = (/** @type {Event} */ event) => {
    event.preventDefault();
    dialog.close();
  };
  dialog.addEventListener('keydown', back);
  dialog.addEventListener('click', back);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  announce(t('black.screen'));
}
