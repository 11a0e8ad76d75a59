/** A room that is made up, so that its three screens can be looked at in every state, and the same each time: what its servent says is said by these tests. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { forgetful, frame, patient } from './browser.js';
import { WWW } from './serve.js';

/** @typedef {import('puppeteer-core').Page} Page */

/** The page as a room gives it, for `start`. */
export const ROOM = { extra: (/** @type {any} */ req, /** @type {any} */ res) => {
  if (req.url !== '/') return forgetful(req, res);
  res.writeHead(200, { 'content-type': 'text/html' }).end(readFileSync(path.join(WWW, 'index.html'), 'utf8').replace('name="servent-api" content="none"', 'name="servent-api" content="room"'));
  return true;
} };

const [FIRST, SECOND] = [['amber', 'brave', 'clever', 'gentle', 'patient', 'silver', 'violet', 'witty'], ['badger', 'dolphin', 'falcon', 'heron', 'marten', 'plover', 'puffin']];
/** The name of the page with this number. @param {number} n */
const nameOf = (n) => `${FIRST[n % FIRST.length]} ${SECOND[n % SECOND.length]}`;
/** @param {number} n */
const at = (n) => `240.0.${n}.7:${40_000 + n}`;
/** @param {number} n @param {(n: number) => any} one */
const list = (n, one) => Array.from({ length: n }, (_, i) => one(i));
const FILE = 'Der lange Weg des Liedes durch alle Zimmer des Hauses (Aufnahme aus der dritten Probe).ogg';
/** An address that a browser has to be told in a large building. */
const URL_SHOWN = 'http://192.168.178.123:6381/';
/** Something like a QR code. */
const CODE = list(29, (y) => list(29, (x) => ((x < 7 && y < 7) || (x > 21 && y < 7) || (x < 7 && y > 21) || (x * 7 + y * 11 + x * y) % 3 === 0 ? 1 : 0)).join(''));

/** A place in a queue. @param {number} n @param {number} [position] */
const card = (n, position) => ({ ticket: `t${n}`, peer: at(n), file: `music/${FILE}`, position: position ?? null, sent: position ? undefined : 1_400_000, start: 0, end: 3_000_000 });
/** A lesson that is going on. @param {number} step @param {object} [more] */
const going = (step, more = {}) => ({ id: 'find-the-song', run: 1, step, own: false, tally: {}, truth: {}, facts: null, since: 0, ...more });
const TOLD = { tally: { 1: [3, 9, 2], 3: [1, 3, 10], 5: [8, 6] }, truth: { 1: 2, 3: 2, 5: 0 }, facts: { unheard: 0, farthest: 3, dropped: 7 } };

/** What the servent of a room says of it. @param {number} pages how many are there @param {object} [more] */
export const room = (pages, more = {}) => ({
  url: URL_SHOWN, code: CODE, people: list(pages, (n) => ({ peer: at(n), agent: `Servent/0.1 (tab) ${nameOf(n)}`, received: 1200 + 37 * n, sent: 900 + 53 * n })),
  view: { queue: { slots: 2, policy: 'text', free: 0, length: Math.max(0, pages - 4), uploads: list(Math.min(2, pages), card), cards: [] } },
  relayed: { pages: 0, calls: 0, bytes: 0 }, rules: { slots: 2, degree: 3, ttl: 7, policy: 'text' }, loss: 0, frozen: false, cut: [], apart: [], typed: false, secret: null,
  projected: { lesson: null, mirror: null }, out: 0, recorded: null,
  class: { pages: list(pages, (n) => ({ at: at(n), name: nameOf(n), away: n * 20, hidden: n % 5 === 4, quiet: n % 7 === 6 ? 45 : 2, step: 1, commits: n % 3 ? { 1: 2 } : {}, tried: null, wrong_twice: n % 4 === 3 })), mirrored: null, lesson: null },
  ...more,
});
/** The same with a lesson, as its host is told of it. @param {number} pages @param {any} lesson */
const taught = (pages, lesson) => { const all = room(pages); return { ...all, class: { ...all.class, lesson } }; };
const MIRROR = { name: 'amber badger', shows: { state: 'Connected to 3 neighbours', sections: [{ title: 'Search', rows: list(3, () => ({ name: FILE, note: '3.0 MB · 4 sources' })) }, { title: 'My downloads', rows: [{ name: FILE, note: 'place 3 of 12, about 2 min' }] }] } };

/** What the servent of a page says of itself, in the midst of work. */
export const BUSY = {
  now: 0, called: true, trouble: null, channels: { opened: 1 },
  overlay: { links: list(4, (n) => ({ conn: n, peer: at(n), agent: n ? `Servent/0.1 (tab) ${nameOf(n)}` : 'Servent/0.1', received: 2310 * (n + 1), sent: 1200 * (n + 1) })) },
  ways: [{ conn: 1, peer: at(1), way: 'channel' }, { conn: 2, peer: at(2), way: 'relay' }],
  shares: [{ index: 1, name: FILE, size: 3_000_000, sha1: 'x' }, { index: 2, name: 'notes.txt', size: 1200, sha1: 'y' }],
  done: [{ part: 9, name: 'a song.ogg', size: 3_000_000 }],
  node: {
    queue: { uploads: [card(3)], cards: [card(4, 1), card(5, 2)] },
    fetches: [
      { fetch: 1, name: FILE, size: 3_000_000, have: 1_200_000, state: 'running', sources: [{ at: at(1), state: 'receiving', position: null }] },
      { fetch: 2, name: 'another.ogg', size: 9_000_000, have: 0, state: 'running', sources: [{ at: at(2), state: 'queued', position: 3, length: 12, eta: 140, lost: null }] },
      { fetch: 3, name: 'gone.ogg', size: 10, have: 0, state: 'no source', sources: [] },
    ],
  },
};
const QUIET = { ...BUSY, channels: { opened: 0 }, overlay: { links: [] }, ways: [], shares: [], done: [], node: { queue: { uploads: [], cards: [] }, fetches: [] } };
const FOUND = list(3, (n) => ({ key: `k${n}`, name: n ? `${n} ${FILE}` : 'song.ogg', size: 3_000_000 * (n + 1), hits: list(n + 1, (i) => ({ search: 1, name: FILE, size: 3_000_000, sha1: null, push: n === 2, at: n === 2 ? '10.0.0.1:5' : at(i), number: i })) }));
/** What a page is told of its class. @param {any} lesson @param {object|null} [commits] */
const heard = (lesson, commits = null) => ({ class: { lesson, commits, mirrored: false }, code: null, typed: false });

/** Every state in which a screen is looked at, by screen. @type {Record<'host'|'room'|'part', Record<string, any>>} */
export const STATES = {
  host: {
    'no page yet': room(0),
    'a class at work': room(14, { secret: 'K7QWM', frozen: true, out: 2, typed: true, cut: [nameOf(20)], apart: [[at(1), at(2)]], loss: 50, recorded: { tapes: 15, bytes: 48_000_000, kept: false }, relayed: { pages: 4, calls: 3, bytes: 12_000_000 } }),
    'a question': taught(14, going(1, { tally: { 1: [3, 2, 4] } })),
    'what happened': taught(14, going(6, TOLD)),
    'the recording': taught(14, { ...going(7, TOLD), own: true }),
  },
  room: {
    'no page yet': room(0),
    'a class': room(14, { secret: 'K7QWM', relayed: { pages: 4, calls: 3, bytes: 12_000_000 } }),
    'thirty': room(30),
    'a question': room(14, { projected: { lesson: going(1), mirror: null } }),
    'what happened': room(14, { secret: 'K7QWM', projected: { lesson: going(6, TOLD), mirror: null } }),
    'what happened to the line': room(14, { secret: 'K7QWM', projected: { lesson: going(6, { ...TOLD, id: 'the-line' }), mirror: null } }),
    'what happened to the film': room(14, { projected: { lesson: going(6, { ...TOLD, id: 'hand-on-the-film' }), mirror: null } }),
    'one page for all': room(14, { projected: { lesson: null, mirror: MIRROR } }),
  },
  part: {
    'nothing yet': { view: QUIET, found: [], heard: heard(null) },
    'at work': { view: BUSY, found: FOUND, heard: { ...heard(null), typed: true }, says: [['SAY', 'Look at the map in front: who is your neighbour, and who is theirs?']], recorded: true },
    'frozen': { view: BUSY, found: FOUND, heard: heard(null), says: [['FREEZE', 'on']], recorded: true },
    'a question': { view: BUSY, found: [], heard: heard(going(1)) },
    'committed': { view: BUSY, found: [], heard: heard(going(1), { 1: 2 }) },
    'what happened': { view: BUSY, found: [], heard: heard({ ...going(6, TOLD), own: true }, { 1: 0, 3: 2, 5: 0 }) },
  },
};

/** What the page asks its servent, answered in the page. @param {string} language @param {object} part */
function answering(language, part) {
  if (language !== 'en') localStorage.setItem('language', language);
  else localStorage.clear();
  const own = /** @type {any} */ (globalThis);
  own.asked = 0;
  const fetched = fetch;
  /** @param {any} url @param {any} how */
  own.fetch = (url, how) => {
    const name = String(url).split('?')[0];
    if (!name.startsWith('api/')) return fetched(url, how);
    own.asked += name === 'api/room' ? 1 : 0;
    const said = { 'api/info': { name: 'room', version: '0', live: true, part: true }, 'api/part': part, 'api/room': own.room, 'api/room/page': own.heard }[name];
    return Promise.resolve(said ? new Response(JSON.stringify(said)) : new Response('', { status: 404 }));
  };
}

/**
 * Opens a screen; `start(name, ROOM)` has begun the browser and the server.
 * @param {{browser: import('puppeteer-core').Browser, server: {url: string}}} started @param {'host'|'room'|'part'} name
 * @param {{language?: string, about?: object}} [how] `about`: what a page is told before it begins
 * @returns {Promise<Page>}
 */
export async function screen({ browser, server }, name, { language = 'en', about = {} } = {}) {
  const page = patient(await browser.newPage());
  await page.evaluateOnNewDocument(answering, language, { port: 9, own: [], rules: null, recorded: false, loss: 0, frozen: false, given: false, cut: [], apart: [], typed: false, code: false, room: true, check: false, taken: false, ...about });
  await page.goto(`${server.url}#${name}`);
  await page.bringToFront();
  await page.waitForSelector(`${name}-screen${name === 'part' && !('code' in about) ? '[data-ready]' : ''} main`);
  await page.evaluate((one) => {
    document.documentElement.dataset.theme = 'light';
    const { again } = /** @type {any} */ (document.querySelector(`${one}-screen`));
    if (again) again.usual = 20;
  }, name);
  return page;
}

/** Puts the screen into a state of {@link STATES}. @param {Page} page @param {'host'|'room'|'part'} name @param {any} state */
export async function put(page, name, state) {
  if (name === 'part') await page.evaluate(begin, state);
  else {
    const asked = await page.evaluate((said) => { const own = /** @type {any} */ (globalThis); own.room = said; return own.asked; }, state);
    // An answer may have been on its way.
    await page.waitForFunction((before) => /** @type {any} */ (globalThis).asked > before + 2, {}, asked);
  }
  await frame(page);
}

/** @param {any} state */
async function begin({ view, found, heard: told, says = [], recorded = false }) {
  const one = /** @type {any} */ (document.querySelector('part-screen'));
  const own = /** @type {any} */ (globalThis);
  own.heard = told;
  one.peer.view = () => view;
  one.named = { ...one.named, name: 'patient dolphin', spins: 3 };
  one.found = new Map(found.map((/** @type {any} */ file) => [file.key, file]));
  one.recorded.hidden = !recorded;
  one.note.hidden = true;
  one.door.said('FREEZE', 'off');
  for (const [what, words] of says) one.door.said(what, words);
  one.door.changed();
  await one.pulse.now();
  await new Promise((shown) => setTimeout(shown, 260));
}
