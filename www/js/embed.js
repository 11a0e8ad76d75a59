/**
 * The lab in a page of another site: one view and its time, and messages to the
 * page around it. Nothing is taken from that page but the address.
 */

import { isServed } from '#lab/open/live.js';

/** @import { Classroom } from './lesson/lesson.js' */
/** @import { Session } from './session/session.js' */

/** The page around is told this often at most, in milliseconds. */
const TELL_MS = 250;

let on = false;

/** @param {string} search of the address */
export function embedAsWanted(search) {
  on = new URLSearchParams(search).has('embed');
  if (on) document.documentElement.dataset.embed = '';
}

export const isEmbedded = () => on;

/** A link that leads to a lesson. @param {string} link a fragment */
const teaches = (link) => /[?&]les=/.test(link);

/** Nothing leads a learner away from a lesson in another page: there would be no way back. @param {string} fragment */
export const embedsLesson = (fragment) => on && teaches(fragment);

/** Whether another page could show this one: neither a running servent's own, nor a file. */
export const canBeEmbedded = () => !isServed() && location.protocol !== 'file:';

/** Pixels of the frame: a picture and time, or a lesson's card below them. */
const [HEIGHT, TAUGHT] = [420, 640];

/** HTML that shows what a link leads to. @param {string} link a fragment @param {string} title */
export function snippet(link, title) {
  const address = new URL(`${location.pathname}?embed${link.replace('&lock=1', '')}`, location.href).href;
  const safe = (/** @type {string} */ text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<iframe src="${safe(address)}" title="${safe(title)}" width="100%" height="${teaches(link) ? TAUGHT : HEIGHT}" style="border:0" loading="lazy"></iframe>`;
}

/**
 * Tells the page around what is shown, and what a learner answered:
 * `{servent: 'state', view, story, now, end, playing}` and
 * `{servent: 'answer', lesson, step, right}`; an attempt at a goal is an answer.
 * @param {Session} session @param {Classroom} room
 */
export function tellParent(session, room) {
  if (!on || parent === window) return;
  const tell = (/** @type {object} */ what) => parent.postMessage(what, '*');
  let [told, later] = [-Infinity, 0];
  const state = () => {
    const { run, view, preset, clock: { playing, end } } = session;
    clearTimeout(later);
    if (!run) return;
    // What comes too soon is told later: how it stands in the end always is.
    const wait = told + TELL_MS - performance.now();
    if (wait > 0) {
      later = window.setTimeout(state, wait);
      return;
    }
    told = performance.now();
    tell({ servent: 'state', view: view.id, story: preset, now: (run.now - run.origin) / 1e6, end: (end - run.origin) / 1e6, playing });
  };
  for (const type of ['frame', 'play', 'run']) session.addEventListener(type, state);
  room.addEventListener('answer', (event) => tell({ servent: 'answer', .../** @type {CustomEvent} */ (event).detail }));
  state();
}
