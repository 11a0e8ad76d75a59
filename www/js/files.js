/** Traces in and out: file picker, drop, export. */
import { el } from '#lab/dom.js';
import { clock } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { firstView } from '#lab/views.js';

/** @import { Session } from './session.js' */

/** A trace is looked at where its events are at home. @param {Session} session @param {Uint8Array} bytes @param {string} name */
export async function openTrace(session, bytes, name) {
  const before = session.view;
  try {
    session.setView(firstView);
    const run = session.openTrace(bytes, name);
    session.notice(t('trace.opened', { n: run.count }));
  } catch (why) {
    session.setView(before);
    session.notice(t('trace.bad', { why: why instanceof Error ? why.message : String(why) }), { bad: true });
  }
}

/** @param {Session} session */
export function pick(session) {
  const input = /** @type {HTMLInputElement} */ (el('input', { type: 'file', accept: '.sqlog,.qlog,.json', hidden: true, 'aria-label': t('tool.open') }));
  input.addEventListener('change', async () => {
    const file = input.files?.[0];
    input.remove();
    if (file) await openTrace(session, new Uint8Array(await file.arrayBuffer()), file.name);
  });
  input.addEventListener('cancel', () => input.remove());
  document.body.append(input);
  input.click();
}

/** A trace dropped anywhere on the page is opened. @param {Session} session */
export function acceptDrops(session) {
  const mark = (/** @type {boolean} */ on) => document.body.classList.toggle('dropping', on);
  addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    mark(true);
  });
  addEventListener('dragleave', (event) => { if (!event.relatedTarget) mark(false); });
  addEventListener('drop', async (event) => {
    mark(false);
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    await openTrace(session, new Uint8Array(await file.arrayBuffer()), file.name);
  });
}

/** @param {Session} session @param {'sqlog'|'pcapng'} kind */
export function save(session, kind) {
  const { run } = session;
  if (!run) return;
  // A simulated link carries bytes, but no packets that could be written down.
  if (kind === 'pcapng' && run.kind === 'scenario') return void session.notice(t('tool.save.nopackets'));
  session.guard(() => {
    const bytes = kind === 'sqlog' ? run.raw.exportSqlog() : /** @type {any} */ (run.raw).exportPcapng();
    const url = URL.createObjectURL(new Blob([/** @type {BlobPart} */ (bytes)]));
    const stem = (session.preset ?? session.title).replace(/\W+/g, '-').toLowerCase() || 'servent';
    el('a', { href: url, download: `${stem}-${clock(run.now - run.origin).replace(/\W+/g, '-')}.${kind}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });
}
