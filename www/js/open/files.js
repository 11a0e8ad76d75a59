/** Traces and lessons that are opened: picked, dropped, or named by a link. */
import { Tape, Tapes } from '#servent';
import { isPanic } from '#lab/core.js';
import { el } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import { allViews, firstView, viewOf } from '#lab/views.js';

/** @import { Session } from '../session/session.js' */

/** How far a long file is read is said this often, in milliseconds. */
const TELL_MS = 300;

/** A file as it is read. @typedef {{stream: ReadableStream<Uint8Array>, name: string, size: number}} Source of the whole, 0 when that is not known */

/**
 * Reads a tape as it comes and shows it where its events are at home. While
 * it is read it can be given up.
 * @param {Session} session
 * @param {ReadableStream<Uint8Array>} stream
 * @param {string} name
 * @param {number} size of the whole, 0 when that is not known
 */
export const openTape = (session, stream, name, size) => openTapes(session, [{ stream, name, size }]);

/** The same for the tapes of one servent or several; several are one run. @param {Session} session @param {Source[]} sources */
async function openTapes(session, sources) {
  const reading = new AbortController();
  const { signal } = reading;
  /** What was looked at before it was shown. @type {import('../views.js').View|null} */
  let before = null;
  try {
    const tapes = [];
    await allViews();
    const names = [];
    for (const source of sources) {
      const all = await read(session, source, reading);
      tapes.push(...all);
      // In the recording of a room every page has a name; a servent alone is called as its file.
      names.push(...all.length > 1 ? all.map((one) => one.name()) : [source.name.replace(ENDING, '')]);
    }
    const name = sources.map((one) => one.name).join(' + ');
    // What they are called is all that is left of them: the core has taken them.
    const tape = tapes.length > 1 ? new Tapes(tapes, distinct(names)) : tapes[0];
    const world = tape.world();
    const views = tape.views();
    if (tapes.length > 1 && !views.length) throw new Error(t('trace.strangers'));
    // What has nothing to show in any view is a list of events all the same.
    const view = await viewOf(world?.protocol ?? views[0] ?? firstView.id);
    // The view that shows it may need no more than a part of it.
    const apart = tape instanceof Tapes ? apartOf(tape) : 0;
    before = session.view;
    session.setView(view);
    const run = session.openTape(tape, name, world);
    const worth = run.verified();
    if (worth.damaged > 0) return session.notice(t('trace.damaged', worth), { bad: true });
    session.notice(world ? t('trace.simulated') : tapes.length > 1 ? t('trace.together', { n: run.count, of: tapes.length, apart }) : t('trace.opened', { n: run.count }));
  } catch (why) {
    if (before) session.setView(before);
    if (isPanic(why)) return session.guard(() => { throw why; });
    session.notice(t('trace.bad', { why: why instanceof Error ? why.message : String(why) }), { bad: !signal.aborted });
  }
}

/** What stands at the end of a file's name. */
const ENDING = /(\.(sqlog|qlog|json|gz))+$/;

/** A page that came again has a number behind its name. @param {string[]} names */
function distinct(names) {
  const seen = new Map();
  return names.map((name) => {
    const n = (seen.get(name) ?? 0) + 1;
    seen.set(name, n);
    return n > 1 ? `${name} ${n}` : name;
  });
}

/** The most that two clocks differ, in microseconds. @param {Tapes} tapes */
const apartOf = (tapes) => { const all = tapes.ahead(); return Math.max(...all) - Math.min(...all); };

/** @param {Session} session @param {Source} source @param {AbortController} reading */
function read(session, { stream, name, size }, reading) {
  const stop = { text: t('trace.stop'), run: () => reading.abort(new Error(t('trace.stopped'))) };
  let told = performance.now();
  return Tape.openAll(stream, (bytes) => {
    // A file that is there at once needs no word.
    if (performance.now() - told < TELL_MS) return;
    told = performance.now();
    session.notice(t('trace.reading', { name, bytes, size }), { stop });
  }, reading.signal);
}

/** How a file packed by gzip begins. */
const GZIP = [0x1f, 0x8b];

/** Who begins a lesson from its text. @typedef {(text: string) => void} Teach */

/** A lesson, or the traces of one servent or several. @param {Session} session @param {{file: Blob, name: string}[]} files @param {Teach} [teach] */
async function openFiles(session, files, teach) {
  const lesson = teach && files.find(({ name }) => name.endsWith('.toml'));
  if (lesson) return teach(await lesson.file.text());
  // In any order the same names lead to the same picture.
  const all = files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return openTapes(session, await Promise.all(all.map(async ({ file, name }) => {
    const head = new Uint8Array(await file.slice(0, GZIP.length).arrayBuffer());
    const packed = GZIP.every((byte, i) => head[i] === byte);
    // Its unpacked length is not known beforehand.
    return packed ? { stream: file.stream().pipeThrough(new DecompressionStream('gzip')), name, size: 0 } : { stream: file.stream(), name, size: file.size };
  })));
}

/** What a link to a trace begins with; behind it is where the trace is, from the page. Those of several servents follow each other. */
const TRACE = '#trace=';
const AND = '&trace=';

/** Where the traces are that a fragment names, or null. @param {string} fragment with its `#` */
export const tracesIn = (fragment) => (fragment.startsWith(TRACE) ? fragment.slice(TRACE.length).split(AND).map(decodeURIComponent) : null);

/**
 * Opens traces that lie beside the page on its server. True when they were shown.
 * @param {Session} session
 * @param {string[]} addresses
 */
export async function openAddresses(session, addresses) {
  const files = [];
  for (const address of addresses) {
    try {
      const answer = await fetch(address);
      if (!answer.ok) throw new Error(t('trace.answer', { status: answer.status }));
      files.push({ file: await answer.blob(), name: address.split('/').at(-1) ?? address });
    } catch (why) {
      session.notice(t('trace.unreachable', { name: address, why: why instanceof Error ? why.message : String(why) }), { bad: true });
      return session.run !== null;
    }
  }
  await openFiles(session, files);
  return session.run !== null;
}

/** @param {FileList|undefined|null} list */
const named = (list) => [...list ?? []].map((file) => ({ file, name: file.name }));

/** @param {Session} session @param {Teach} teach */
export function pick(session, teach) {
  const input = /** @type {HTMLInputElement} */ (el('input', { type: 'file', multiple: true, accept: '.sqlog,.qlog,.json,.gz,.toml', hidden: true, 'aria-label': t('tool.open') }));
  input.addEventListener('change', async () => {
    const files = named(input.files);
    input.remove();
    if (files.length) await openFiles(session, files, teach);
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
    const files = named(event.dataTransfer?.files);
    if (!files.length) return;
    event.preventDefault();
    await openFiles(session, files, teach);
  });
}
