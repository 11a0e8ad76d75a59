/** Commits to answers as words and as a table. */

import { plain } from '#lab/lesson/marks.js';

/** @import * as T from '../types' */
/** One commit. @typedef {{at: string, lesson: string, title: string, step: number, kind: string, said: string, right: boolean, attempt: number, seconds: number}} Answer */

/** What begins so would be a formula to a spreadsheet. */
const FORMULA = /^[=+\-@\t\r]/;

/** A reply in words. @param {T.QuestionReply} reply @param {T.QuestionView|undefined} question */
export function inWords({ choice, number, node, order }, question) {
  if (typeof choice === 'number') return plain(question?.choice?.[choice] ?? String(choice));
  return plain(String(number ?? node ?? order?.join(' → ') ?? ''));
}

/** @param {string|number|boolean} value */
function cell(value) {
  const text = String(value);
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table that every spreadsheet reads. @param {readonly string[]} columns @param {Record<string, any>[]} rows */
export const csv = (columns, rows) => [columns.join(','), ...rows.map((row) => columns.map((name) => cell(row[name])).join(','))].map((line) => `${line}\r\n`).join('');

const COLUMNS = /** @type {const} */ (['at', 'lesson', 'title', 'step', 'kind', 'said', 'right', 'attempt', 'seconds']);

/** A table that every spreadsheet reads. @param {Answer[]} all */
export const csvOf = (all) => csv(COLUMNS, all);
