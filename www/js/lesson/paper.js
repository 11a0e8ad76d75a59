/** What leaves the page: a sheet for the printer, a table for a spreadsheet. */
import { el } from '#lab/dom.js';

/** The address of a saved file is given back after so long, in milliseconds. */
const KEPT_MS = 10_000;

/** Prints an article of the class `worksheet`, and nothing else of the page. @param {HTMLElement} sheet @param {(why: unknown) => void} [broken] a picture cannot be shown, and is left out */
export async function printSheet(sheet, broken) {
  document.querySelector('.worksheet')?.remove();
  document.body.append(sheet);
  addEventListener('afterprint', () => sheet.remove(), { once: true });
  // What is printed before it has been read is white.
  await Promise.all([...sheet.querySelectorAll('img')].map((img) => img.decode().catch((why) => {
    (img.closest('figure') ?? img).remove();
    broken?.(why);
  })));
  // Meanwhile another sheet may have taken its place.
  if (sheet.isConnected) print();
}

/** Saves a table. @param {string} name of the file @param {string} text */
export function saveTable(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  el('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
