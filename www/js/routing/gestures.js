/** What is selected, and what can be done to it. */
import { doing } from '#lab/session/run.js';
import { t } from '#lab/strings.js';
import { broken, halved } from '#lab/routing/parts.js';
import { linkName, messageName } from '#lab/routing/words.js';

/** @import * as T from './types' */
/** @import { RoutingRun } from './run.js' */
/** @import { Thing } from './stage.js' */
/** @import { Action } from '../views.js' */
/** @import { Session } from '../session/session.js' */

/** Nothing is selected. */
export const NOTHING = Object.freeze({ node: null, ticket: null, name: '' });
/** What a node floods with on request. */
const FLOOD = { count: 200, every: 20_000 };
/** It is done so many microseconds later. */
const AFTER = 2;
/** What it looks for when the story looks for nothing. */
const WORDS = 'blue notes';

/** The run of the selection. @param {Session} session */
export const runOf = ({ selection, run, other }) => /** @type {RoutingRun|null} */ (selection.lane === 1 ? other : run);

/** @param {Thing} thing @param {RoutingRun} run @param {number} lane @returns {T.Selection} */
export function selectionOf({ kind, i }, run, lane) {
  if (kind === 'node') return { node: i, ticket: null, name: run.name(i), lane };
  if (kind === 'link') return { node: null, ticket: `l${i}`, name: linkName(run, i), lane };
  const id = run.flights.id[i];
  return { node: run.flights.from[i], ticket: `m${id}`, arrow: id, name: messageName(run, i), lane };
}

/** What is selected in a run, as a thing in its picture. @param {T.Selection} selection @param {RoutingRun} run @returns {Thing|null} */
export function thingOf({ node, ticket, arrow }, run) {
  if (arrow !== undefined) {
    const i = run.flights.place(arrow);
    return i < 0 ? null : { kind: 'message', i };
  }
  if (ticket?.startsWith('l')) return { kind: 'link', i: Number(ticket.slice(1)) };
  return node === null || node >= run.nodes.length ? null : { kind: 'node', i: node };
}

/** @param {Session} session */
export function selected(session) {
  const run = runOf(session);
  return run ? thingOf(session.selection, run) : null;
}

/** @param {Session} session @returns {{gesture: string, text: string, key: string}[]} */
export function gesturesOf(session) {
  const run = runOf(session);
  const thing = selected(session);
  if (!run || !thing || run.kind !== 'scenario' || thing.kind === 'message') return [];
  const say = (/** @type {string} */ gesture, /** @type {string} */ key) => ({ gesture, text: t(`gesture.${gesture}`), key });
  if (thing.kind === 'link') return [run.links.up[thing.i] ? say('cut', 'D') : say('heal', 'D')];
  const mend = broken(run).length ? [say('mend', 'M')] : [];
  const wall = say(run.closed[thing.i] ? 'open' : 'firewall', 'W');
  return run.up[thing.i] ? [say('search', 'S'), say('flood', 'F'), say('kill', 'X'), wall, say('partition', 'P'), ...mend] : [say('restart', 'X'), wall, ...mend];
}

/** @param {string} gesture @param {T.Selection} target @param {Session} session @returns {Action|null} */
export function action(gesture, target, session) {
  const run = /** @type {RoutingRun|null} */ (target.lane === 1 ? session.other : session.run);
  const thing = run ? thingOf(target, run) : null;
  if (run && (gesture === 'partition' || gesture === 'mend')) return parted(gesture, run, target, thing);
  if (!run || !thing) return null;
  const { name } = target;
  if (gesture === 'cut' || gesture === 'heal') {
    if (thing.kind !== 'link') return null;
    return { fault: doing(gesture, { from: run.links.a[thing.i], to: run.links.b[thing.i] }), name, past: AFTER };
  }
  if (thing.kind !== 'node') return null;
  const node = thing.i;
  if (gesture === 'search') return { fault: { search: { node, words: run.searches.find((s) => s.kind === 'query')?.words || WORDS } }, name, past: AFTER };
  if (gesture === 'flood') return { fault: { flood: { node, ...FLOOD } }, name, past: AFTER };
  if (gesture === 'firewall' || gesture === 'open') return { fault: { firewall: { node, closed: gesture === 'firewall' } }, name, past: AFTER };
  return { fault: doing(gesture, { node }), name, past: AFTER };
}

/** Many links at once: those between two halves of the network are cut, or all that are cut are mended. @param {'partition'|'mend'} gesture @param {RoutingRun} run @param {T.Selection} target @param {Thing|null} thing @returns {Action|null} */
function parted(gesture, run, target, thing) {
  const links = gesture === 'mend' ? broken(run) : target.links ?? (thing?.kind === 'node' ? halved(run, thing.i) : []);
  if (!links.length) return null;
  const [fault, ...more] = links.map((i) => doing(gesture === 'mend' ? 'heal' : 'cut', { from: run.links.a[i], to: run.links.b[i] }));
  return { fault, more, name: t('partition.name', { n: links.length }), past: AFTER };
}
