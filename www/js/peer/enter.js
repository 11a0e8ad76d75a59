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

/** The screen that was left for the lab, if any. */
let left = '';

/** Where the lab stands with something that has no address of its own, and what a reload there leads back to. In a room the short address is that of the page that takes part. */
export const standing = () => (inRoom() && left ? { hash: '#1/queue', state: { screen: left } } : { hash: '', state: null });

/** A reload of what was looked at from a screen leads back to the screen. */
export function resume() {
  const name = history.state?.screen;
  if (Object.hasOwn(SCREENS, name ?? '')) history.replaceState(null, '', screenIn('') === name ? location.pathname : `#${name}`);
}

/**
 * Shows the screen in the place of the lab, until the user goes back; then what the servent has recorded.
 * @param {HTMLElement} lab
 * @returns {Promise<Uint8Array|{scenario: any}|null|undefined>} nothing when the browser's own buttons led away
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
    const over = new AbortController();
    const end = (/** @type {Uint8Array|{scenario: any}|null|undefined} */ found) => {
      over.abort();
      left = name;
      screen.hidden = true;
      lab.hidden = false;
      document.title = 'Servent lab';
      resolve(found);
    };
    screen.addEventListener('leave', (/** @type {Event} */ event) => {
      history.pushState(null, '', before);
      end(/** @type {CustomEvent} */ (event).detail);
    }, { signal: over.signal });
    addEventListener('hashchange', () => { if (screenIn(location.hash) !== name) end(undefined); }, { signal: over.signal });
  });
}
