/** Who is in the room: pages and programs that are connected with its servent, and pages that it hears all the same. */
import { personOf } from '#lab/peer/names.js';

/** A page that has said nothing for so many seconds is silent. */
export const SILENT_S = 20;

/** @typedef {{peer: string, agent: string, received?: number, sent?: number}} Neighbour @typedef {{peer: string, name: string, linked: boolean}} Present */

/**
 * All pages that are here. The servent has no link with a page that is cut off from it,
 * or that looks for neighbours just now; yet the page says every few seconds how it is.
 * @param {Neighbour[]} people @param {{at: string, name: string, quiet: number}[]} pages @returns {Present[]}
 */
export function present(people, pages) {
  const all = people.map(({ peer, agent }) => ({ peer, name: personOf(agent) ?? peer, linked: true }));
  // Two may have the same name.
  const named = all.map(({ name }) => name);
  for (const { at, name, quiet } of pages) {
    if (quiet > SILENT_S) continue;
    const known = named.indexOf(name);
    if (known < 0) all.push({ peer: at, name, linked: false });
    else named.splice(known, 1);
  }
  return all;
}
