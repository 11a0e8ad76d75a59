/** What is looked at, as a file: a trace, packets, the events as a table, the picture. */
import { Tape } from '#servent';
import { el } from '#lab/dom.js';
import { clock } from '#lab/format.js';
import { isHidden } from '#lab/session/future.js';
import { drawing, painted } from '#lab/open/picture.js';
import { tapeOf } from '#lab/session/run.js';
import { kindOf, matcher } from '#lab/search.js';
import { t, tell } from '#lab/strings.js';

/** @import { Session } from '../session/session.js' */
/** @import { Run } from '../session/run.js' */

/** What there is to choose from, and what browsers call it. */
const KINDS = /** @type {const} */ ({ sqlog: '', pcapng: '', csv: 'text/csv', svg: 'image/svg+xml', png: 'image/png' });
/** @typedef {keyof typeof KINDS} Kind */

/** @type {Kind[]} */
export const kinds = /** @type {any} */ (Object.keys(KINDS));

/** Events are asked of the core so many at a time. */
const BATCH = 1000;

/**
 * Saves what is looked at.
 * @param {Session} session
 * @param {Kind} kind
 * @param {{picture: Element, query: string}} seen the picture, and what is searched for among the events
 */
export async function save(session, kind, { picture, query }) {
  const { run } = session;
  if (!run) return;
  // A simulated link carries bytes, but no packets that could be written down.
  if (kind === 'pcapng' && run.kind === 'scenario') return void session.notice(t('tool.save.nopackets'));
  if ((kind === 'pcapng' || kind === 'sqlog') && run.together) return void session.notice(t('tool.save.several'));
  const name = `${stem(session, run)}.${kind}`;
  try {
    if (kind === 'png') return download(name, await painted(drawing(picture, session.title)));
    const write = {
      sqlog: () => run.raw.exportSqlog(),
      pcapng: () => /** @type {Tape} */ (tapeOf(run.source)).exportPcapng(),
      csv: () => table(session, run, query),
      svg: () => drawing(picture, session.title).text,
    }[kind];
    session.guard(() => download(name, new Blob([/** @type {BlobPart} */ (write())], { type: KINDS[kind] })));
  } catch (why) {
    session.notice(t('tool.save.failed', { why: why instanceof Error ? why.message : String(why) }), { bad: true });
  }
}

/** What the file is called without its ending. @param {Session} session @param {Run} run */
function stem(session, run) {
  const about = (session.preset ?? session.title).replace(/\W+/g, '-').toLowerCase() || 'servent';
  return `${about}-${clock(run.now - run.origin).replace(/\W+/g, '-')}`;
}

/** @param {string} name @param {Blob} content */
function download(name, content) {
  const url = URL.createObjectURL(content);
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * The events that the table shows, for a spreadsheet.
 * @param {Session} session
 * @param {Run} run
 * @param {string} query
 */
export function table(session, run, query) {
  const rows = [['number', 'seconds', 'node', 'kind', 'requirement', 'event']];
  const total = isHidden() ? run.index : run.count;
  const fits = matcher(query);
  for (let from = 0; from < total; from += BATCH) {
    for (const record of run.records(from, Math.min(BATCH, total - from), '')) {
      if (!fits(record, run)) continue;
      const seconds = ((record.at - run.origin) / 1e6).toFixed(6);
      rows.push([String(record.seq + 1), seconds, record.node_name, kindOf(record), run.why(record.seq)?.id ?? '', tell(session.named(record))]);
    }
  }
  return rows.map((row) => row.map(cell).join(',')).join('\r\n');
}

/** A name is anybody's: no spreadsheet may take it for a formula. @param {string} text */
const cell = (text) => `"${/^[=+\-@\t\r]/.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`;
