/** What leaves the page: a sheet for the printer, a table for a spreadsheet. */
import { el } from '#lab/dom.js';

/** The address of a saved file is given back after so long, in milliseconds. */
const KEPT_MS = 10_000;

/** Prints an article of the class `worksheet`, and nothing else of the page. @param {HTMLElement} sheet */
export function printSheet(sheet) {
  document.querySelector('.worksheet')?.remove();
  document.body.append(sheet);
  addEventListener('afterprint', () => sheet.remove(), { once: true });
  print();
}

/** Saves a table. @param {string} name of the file @param {string} text */
export function saveTable(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  el('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
