/**
 * A page for a class: one lesson or one story, and nothing that leads away
 * from it. It is no wall; it keeps a class together, and the answers out of
 * the way.
 */

let on = false;

/** The page was opened by a link for a class, or is the one lesson of a package or of another page, and stays so. @param {string} fragment @param {boolean} [alone] */
export function lockAsWanted(fragment, alone = false) {
  on = alone || /[?&]lock=1\b/.test(fragment);
  document.documentElement.toggleAttribute('data-locked', on);
}

export const isLocked = () => on;

/** What a link says of it. */
export const lockInLink = () => (on ? ['lock=1'] : []);

/** Without the moment: a class begins at the beginning. @param {{view: string, lesson?: string|null, preset?: string|null, scenario?: string}} what @param {string[]} more */
export function classLink({ view, lesson, preset, scenario }, more) {
  const what = lesson ? `les=${lesson}/1` : preset ? `p=${encodeURIComponent(preset)}` : `s=${scenario}`;
  return `#1/${view}?${[what, ...more, 'lock=1'].join('&')}`;
}
