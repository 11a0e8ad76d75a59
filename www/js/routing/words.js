/** What things in the network are called, in a few words and in a sentence. */
import { clock, count } from '#lab/format.js';
import { told } from '#lab/session/future.js';
import { known, t } from '#lab/strings.js';
import { KINDS } from '#lab/routing/look.js';

/** @import { RoutingRun } from './run.js' */
/** @import { Thing } from './stage.js' */

/** @param {RoutingRun} run @param {number} fate */
export const fateOf = (run, fate) => run.fates[String(fate)] ?? 'flying';

/** Why it was dropped, in a word or two. @param {RoutingRun} run @param {number} i */
export function drop(run, i) {
  const fate = fateOf(run, run.flights.fate[i]);
  return known(`drop.${fate}`) ? t(`drop.${fate}`) : fate.replaceAll('_', ' ');
}

/** The same as a sentence. @param {RoutingRun} run @param {number} fate */
export function reasonOf(run, fate) {
  const name = fateOf(run, fate);
  return known(`drop.${name}.long`) ? t(`drop.${name}.long`) : name.replaceAll('_', ' ');
}

/** What a message carries. @param {RoutingRun} run @param {number} i */
export function cargo(run, i) {
  const { kind, guid } = run.flights;
  const search = guid[i] >= 0 ? run.search(guid[i]) : undefined;
  const key = `kind.${KINDS[kind[i]]}`;
  return search?.words ? t('message.of', { kind: t(key), words: search.words }) : t(key);
}

/** @param {RoutingRun} run @param {number} i */
export const messageName = (run, i) => t('message.name', { what: cargo(run, i), from: run.name(run.flights.from[i]), to: run.name(run.flights.to[i]) });

/** @param {RoutingRun} run @param {number} i */
export const linkName = (run, i) => t('link.name', { a: run.name(run.links.a[i]), b: run.name(run.links.b[i]) });

/** The name of a thing, with what is odd about it. @param {RoutingRun} run @param {Thing} thing */
export function title(run, { kind, i }) {
  if (kind === 'node') return t('node.title', { name: run.name(i), role: t(`role.${run.nodes[i].role}`), up: run.up[i] === 1, closed: run.closed[i] === 1 });
  if (kind === 'link') return t('link.title', { name: linkName(run, i), up: run.links.up[i] === 1 });
  const { fate, due } = run.flights;
  const over = due[i] <= run.now;
  return t('message.title', { name: messageName(run, i), why: over && fate[i] >= 10 ? drop(run, i) : '' });
}

/** What became of a message, as a sentence. @param {RoutingRun} run @param {number} i */
export function fateWords(run, i) {
  const { fate, due } = run.flights;
  const at = clock(due[i] - run.origin);
  if (!told(due[i], run.now)) return t('fate.flying', { at });
  if (fate[i] === 0) return t('fate.flying', { at });
  if (fate[i] === 1) return t('fate.forwarded', { at });
  if (fate[i] === 2) return t('fate.local', { at });
  return t('fate.dropped', { at, why: reasonOf(run, fate[i]) });
}

/** A search in the list of those that can be followed. @param {RoutingRun} run @param {import('./types').Search} search */
export const searchName = (run, search) => t(search.kind === 'push' ? 'search.push' : 'search.query', { words: search.words, name: search.name || run.name(search.node), of: search.of === null ? '' : run.name(search.of), at: clock(search.at), n: count(search.guid + 1) });
