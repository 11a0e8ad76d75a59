/** The way into and out of taking part; the servent goes on while the lab is looked at. */
import { el } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/** @type {Record<string, () => Promise<unknown>>} */
const SCREENS = { part: () => import('#lab/peer/part.js'), room: () => import('#lab/peer/room.js'), host: () => import('#lab/peer/host.js') };

/** In a room the page itself is for taking part. */
const inRoom = () => document.querySelector('meta[name="servent-api"]')?.getAttribute('content') === 'room';

/** @param {string} hash */
const screenIn = (hash) => (hash === '' && inRoom() ? 'part' : Object.keys(SCREENS).find((name) => hash === `#${name}`));

/** True when a link leads there. @param {string} hash */
export const enters = (hash) => screenIn(hash) !== undefined;

/**
 * Shows the screen in the place of the lab, until the user goes back; then what the servent has recorded.
 * @param {HTMLElement} lab
 * @returns {Promise<Uint8Array|{scenario: any}|null>}
 */
export async function enter(lab) {
  const name = screenIn(location.hash) ?? 'part';
  document.title = `Servent: ${t({ room: 'room.title', host: 'host.title' }[name] ?? 'view.part')}`;
  await SCREENS[name]();
  const screen = document.querySelector(`${name}-screen`) ?? el(`${name}-screen`);
  if (!screen.isConnected) document.body.append(screen);
  screen.hidden = false;
  lab.hidden = true;
  // A reload comes back here, and the address of a room stays short.
  const before = enters(location.hash) ? `${location.pathname}#1/queue` : location.href;
  if (screenIn(location.hash) !== name) history.replaceState(null, '', `#${name}`);
  return new Promise((resolve) => {
    screen.addEventListener('leave', (/** @type {Event} */ event) => {
      screen.hidden = true;
      lab.hidden = false;
      history.pushState(null, '', before);
      document.title = 'Servent lab';
      resolve(/** @type {CustomEvent} */ (event).detail);
    }, { once: true });
  });
}
