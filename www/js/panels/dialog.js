/** A dialog with a head, a close button and a body. */
import { el, icon } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/**
 * @param {string} title
 * @param {...(Node|null)} body
 */
export function openDialog(title, ...body) {
  const dialog = /** @type {HTMLDialogElement} */ (el('dialog', { 'aria-label': title },
    el('div', { class: 'dialog-head' }, el('h2', { text: title }),
      el('button', { class: 'button plain icon', type: 'button', 'aria-label': t('tool.close'), title: t('tool.close'), on: { click: () => dialog.close() } }, icon('close'))),
    el('div', { class: 'dialog-body' }, ...body)));
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
