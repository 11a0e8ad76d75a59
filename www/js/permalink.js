/**
 * Links to a moment, in the fragment alone:
 * `#1/<view>?m=<mode>&p=<preset>|s=<scenario>&f=<faults>&b=<branch>&t=<ms>&e=<event>&sel=<node>&w=<place of the view>&les=<lesson>/<step>&lang=<language>&lock=1&core=<version>&h=<digest>`.
 * `f` tells all that was done, in order, so that every branch comes back.
 */
import { inLink } from '#lab/language.js';
import { classLink, lockInLink } from '#lab/lock.js';
import { OPENING, VIEWS, hasView } from '#lab/views.js';

/** @import * as T from './types' */
/** @import { Run } from './session/run.js' */
/** @import { Session } from './session/session.js' */

/** Longer links are cut by mail programs and chat rooms: then a file is better. */
const LONGEST = 2000;

/** @param {string} text */
async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...data)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Text of a link can be anybody's: what unpacks to more than this is refused. */
const MOST_TEXT = 1 << 20;

/** @param {string} packed */
async function unpack(packed) {
  const data = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > MOST_TEXT) throw new Error('too long');
  }
  return text + decoder.decode();
}

/**
 * The fragment of this moment; `null` when the run is a trace, `''` when it
 * would be too long.
 * @param {Session} session
 * @returns {Promise<string|null>}
 */
export async function linkOf(session) {
  const { run } = session;
  if (!run) return null;
  return linkTo(session, { now: run.now, index: run.index, selected: session.selection.node, proof: [`core=${encodeURIComponent(run.version)}`, `h=${run.digest}`] });
}

/** The fragment that opens one lesson or story and leads nowhere else; nothing where it would be too long, or there is none. @param {Session} session @returns {Promise<string|null>} */
export async function linkForClass(session) {
  const { scenario, preset, lesson, view } = session;
  if (!scenario) return null;
  const link = classLink({ view: view.id, lesson: lesson?.id, preset, scenario: lesson || preset ? '' : await pack(JSON.stringify(scenario)) }, inLink());
  return link.length > LONGEST ? '' : link;
}

/**
 * The fragment of a moment that is no more, such as the last one before a panic.
 * @param {Session} session
 * @param {{now: number, index: number, selected: number|null, proof: string[]}} moment
 * @returns {Promise<string|null>}
 */
export async function linkTo(session, { now, index, selected, proof }) {
  const { scenario } = session;
  if (!scenario) return null;
  const parts = [`m=${session.mode}`];
  // A step of a lesson has a world of its own.
  if (session.lesson) parts.push(`les=${session.lesson.id}/${session.lesson.step + 1}`);
  else if (session.preset) parts.push(`p=${encodeURIComponent(session.preset)}`);
  else parts.push(`s=${await pack(JSON.stringify(scenario))}`);
  if (session.actions.log.length) parts.push(`f=${await pack(JSON.stringify(session.actions.log))}`);
  const last = session.actions.log.filter((fault) => fault.from !== undefined).length;
  if (session.actions.branch !== last) parts.push(`b=${session.actions.branch}`);
  const place = session.view.place?.(session);
  if (place) parts.push(`w=${encodeURIComponent(place)}`);
  parts.push(`t=${now / 1000}`, `e=${index}`);
  if (selected !== null) parts.push(`sel=${selected}`);
  parts.push(...inLink(), ...lockInLink(), ...proof);
  const link = `#1/${session.view.id}?${parts.join('&')}`;
  return link.length > LONGEST ? '' : link;
}

/**
 * What became of a link.
 * @typedef {{opened: boolean, problem?: [string, Record<string, string>]}} Opened
 */

/** What older links call a view. @type {Record<string, T.Mode>} */
const OLDER = { compare: 'compare', events: 'events' };
const MODES = ['single', 'compare', 'events'];

/** The view a fragment names. @param {string} fragment with its `#` */
export function viewIn(fragment) {
  const [, view = ''] = /^#1\/(\w+)/.exec(fragment) ?? [];
  // Older links name a way to look at the first view there.
  if (view === '') return OPENING;
  return hasView(view) ? view : VIEWS[0];
}

/**
 * Opens the moment a fragment names, in a session that looks at its view.
 * @param {Session} session
 * @param {string} fragment with its `#`
 * @param {(id: string, step: number) => Promise<boolean>} teach opens a step of a lesson
 * @returns {Promise<Opened>}
 */
export async function openLink(session, fragment, teach) {
  const [, view, query] = /^#1\/(\w+)\??(.*)$/.exec(fragment) ?? [];
  if (!view) return { opened: false };
  const args = new URLSearchParams(query);
  // A link that does not say how to look at a story shows it as it is told.
  const mode = /** @type {T.Mode|undefined} */ (MODES.find((m) => m === (args.get('m') ?? OLDER[view])));
  try {
    const packed = args.get('s');
    session.mode = mode ?? 'single';
    const [id, step] = args.get('les')?.split('/') ?? [];
    if (id) {
      if (!await teach(id, Number(step ?? 1) - 1)) return { opened: false, problem: ['lesson.missing', {}] };
      if (!args.has('t')) return { opened: true };
    } else if (packed) session.openScenario(JSON.parse(await unpack(packed)));
    // A link that names a view alone leads to its first story.
    else if (!args.has('p') && hasView(view)) session.openPreset(session.view.presets()[0].id);
    else if (!session.openPreset(args.get('p') ?? '')) throw new Error('no such story');
    if (mode) session.setMode(mode);
    const faults = args.get('f');
    if (faults && session.scenario) {
      const branch = args.has('b') ? Number(args.get('b')) : undefined;
      session.openScenario(session.scenario, { preset: session.preset, faults: JSON.parse(await unpack(faults)), branch });
    }
  } catch {
    return { opened: false, problem: ['link.bad', {}] };
  }
  const opened = place(session, args);
  const where = args.get('w');
  if (where) session.view.replace?.(session, where);
  return opened;
}

/** Goes to the moment and compares. @param {Session} session @param {URLSearchParams} args @returns {Opened} */
function place(session, args) {
  const run = /** @type {Run} */ (session.run);
  const at = Number(args.get('t') ?? 0) * 1000;
  if (Number.isFinite(at)) session.clock.seek(at);
  const index = Number(args.get('e') ?? NaN);
  for (let tries = 0; Number.isInteger(index) && run.index !== index && tries < 64; tries += 1) session.clock.step(Math.sign(index - run.index));
  const node = run.node(Number(args.get('sel') ?? NaN));
  if (node) session.select({ node: node.id, ticket: null, name: node.name });
  const core = args.get('core');
  const hash = args.get('h');
  if (core && core !== run.version) return { opened: true, problem: ['link.version', { theirs: core, ours: run.version }] };
  if (hash && hash !== run.digest) return { opened: true, problem: ['link.hash', { theirs: hash, ours: run.digest }] };
  return { opened: true };
}
