/** Traces and lessons that are opened: picked, dropped, or named by a link. */
import { Tape } from '#servent';
import { isPanic } from '#lab/core.js';
import { el } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import { firstView, viewOf } from '#lab/views.js';

/** @import { Session } from './session.js' */

/** How far a long file is read is said this often, in milliseconds. */
const TELL_MS = 300;

/**
 * Reads a tape as it comes and shows it where its events are at home. While
 * it is read it can be given up.
 * @param {Session} session
 * @param {ReadableStream<Uint8Array>} stream
 * @param {string} name
 * @param {number} size of the whole, 0 when that is not known
 */
export async function openTape(session, stream, name, size) {
  const reading = new AbortController();
  const { signal } = reading;
  const stop = { text: t('trace.stop'), run: () => reading.abort(new Error(t('trace.stopped'))) };
  let told = performance.now();
  /** What was looked at before it was shown. @type {import('./views.js').View|null} */
  let before = null;
  try {
    const tape = await Tape.open(stream, (bytes) => {
      // A file that is there at once needs no word.
      if (performance.now() - told < TELL_MS) return;
      told = performance.now();
      session.notice(t('trace.reading', { name, bytes, size }), { stop });
    }, signal);
    const world = tape.world();
    // What has nothing to show in any view is a list of events all the same.
    const view = await viewOf(world?.protocol ?? tape.views()[0] ?? firstView.id);
    before = session.view;
    session.setView(view);
    const run = session.openTape(tape, name, world);
    session.notice(world ? t('trace.simulated') : t('trace.opened', { n: run.count }));
  } catch (why) {
    if (before) session.setView(before);
    if (isPanic(why)) return session.guard(() => { throw why; });
    session.notice(t('trace.bad', { why: why instanceof Error ? why.message : String(why) }), { bad: !signal.aborted });
  }
}

/** How a file packed by gzip begins. */
const GZIP = [0x1f, 0x8b];

/** Who begins a lesson from its text. @typedef {(text: string) => void} Teach */

/** @param {Session} session @param {Blob} file @param {string} name @param {Teach} [teach] */
async function openFile(session, file, name, teach) {
  if (teach && name.endsWith('.toml')) return teach(await file.text());
  const head = new Uint8Array(await file.slice(0, GZIP.length).arrayBuffer());
  const packed = GZIP.every((byte, i) => head[i] === byte);
  // How long it is unpacked, nobody knows beforehand.
  if (packed) return openTape(session, file.stream().pipeThrough(new DecompressionStream('gzip')), name, 0);
  return openTape(session, file.stream(), name, file.size);
}

/** What a link to a trace begins with; behind it is where the trace is, from the page. */
const TRACE = '#trace=';

/** Where the trace is that a fragment names, or null. @param {string} fragment with its `#` */
export const traceIn = (fragment) => (fragment.startsWith(TRACE) ? decodeURIComponent(fragment.slice(TRACE.length)) : null);

/**
 * Opens a trace that lies beside the page on its server. True when one was shown.
 * @param {Session} session
 * @param {string} address
 */
export async function openAddress(session, address) {
  const name = address.split('/').at(-1) ?? address;
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(t('trace.answer', { status: answer.status }));
    await openFile(session, await answer.blob(), name);
  } catch (why) {
    session.notice(t('trace.unreachable', { name: address, why: why instanceof Error ? why.message : String(why) }), { bad: true });
  }
  return session.run !== null;
}

/** @param {Session} session @param {Teach} teach */
export function pick(session, teach) {
  const input = /** @type {HTMLInputElement} */ (el('input', { type: 'file', accept: '.sqlog,.qlog,.json,.gz,.toml', hidden: true, 'aria-label': t('tool.open') }));
  input.addEventListener('change', async () => {
    const file = input.files?.[0];
    input.remove();
    if (file) await openFile(session, file, file.name, teach);
  });
  input.addEventListener('cancel', () => input.remove());
  document.body.append(input);
  input.click();
}

/** A trace or a lesson dropped anywhere on the page is opened, or nothing at all. @param {Session} session @param {Teach} teach @param {boolean} [taken] */
export function acceptDrops(session, teach, taken = true) {
  if (!taken) {
    // A browser would show the file in place of the page.
    for (const type of ['dragover', 'drop']) addEventListener(type, (event) => event.preventDefault());
    return;
  }
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
    await openFile(session, file, file.name, teach);
  });
}
