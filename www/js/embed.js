/**
 * The lab in a page of another site: one view and its time, and messages to the
 * page around it. Nothing is taken from that page but the address.
 */

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

/** HTML that shows what a link leads to. @param {string} link a fragment @param {string} title */
export function snippet(link, title) {
  const address = new URL(`${location.pathname}?embed${link.replace('&lock=1', '')}`, location.href).href;
  const safe = (/** @type {string} */ text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<iframe src="${safe(address)}" title="${safe(title)}" width="100%" height="420" style="border:0" loading="lazy"></iframe>`;
}

/**
 * Tells the page around what is shown, and what a learner answered:
 * `{servent: 'state', view, story, now, end, playing}` and
 * `{servent: 'answer', lesson, step, right}`.
 * @param {Session} session @param {Classroom} room
 */
export function tellParent(session, room) {
  if (!on || parent === window) return;
  const tell = (/** @type {object} */ what) => parent.postMessage(what, '*');
  let told = 0;
  const state = () => {
    const { run, view, preset, clock: { playing, end } } = session;
    if (!run || performance.now() - told < TELL_MS) return;
    told = performance.now();
    tell({ servent: 'state', view: view.id, story: preset, now: (run.now - run.origin) / 1e6, end: (end - run.origin) / 1e6, playing });
  };
  for (const type of ['frame', 'play', 'run']) session.addEventListener(type, state);
  room.addEventListener('reply', () => {
    const answered = room.answers.get(room.step);
    if (room.view && answered) tell({ servent: 'answer', lesson: room.view.id, step: room.step + 1, right: answered.verdict.right });
  });
  state();
}
