/**
 * The views, a lesson and the room's screens as they look, from a phone to a wall:
 * `npm run looks -- FOLDER` leaves the pictures in that folder for a person to look at;
 * `node tests/looks.js --renew` keeps them as the coarse grids that the tests compare with,
 * in `tests/looks`. Both after `cargo xtask page`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { faded, frame, open, start } from './browser.js';
import { ROOM, STATES, put, screen } from './classroom.js';
import { cut, differences, enlarged, marked, reduced, sheet } from './grid.js';
import { decoded, encoded } from './png.js';
import { WWW } from './serve.js';

/** @import { Page } from 'puppeteer-core' */
/** @import { Picture } from './png.js' */
/** @typedef {{browser: any, running: any, server: any, close: () => Promise<void>}} Started */

/** What is looked at: a moment of a story, or a state of a screen. @type {Record<string, string|['host'|'room'|'part', string]>} */
export const PICTURES = {
  queue: '#1/queue?p=one-cut-wire&t=40000',
  routing: '#1/routing?p=round-and-back&t=400',
  unicast: '#1/unicast?p=lose-middle&t=400',
  swarm: '#1/swarm?p=two-for-one&t=5000',
  meet: '#1/meet?p=knock-early&t=1350',
  lesson: '#1/queue?les=cut-the-wire/2',
  host: ['host', 'a question'],
  room: ['room', 'a class'],
  part: ['part', 'at work'],
};

/** @typedef {{width: number, height: number, dark?: boolean, projector?: boolean, language?: string}} Screen */
/** From a small phone to a wall; 640 × 400 is a laptop at twice the size. @type {Record<string, Screen>} */
export const SCREENS = {
  small: { width: 320, height: 640 },
  phone: { width: 375, height: 812 },
  twice: { width: 640, height: 400 },
  tablet: { width: 768, height: 1024 },
  old: { width: 1024, height: 768 },
  laptop: { width: 1280, height: 800 },
  dark: { width: 1920, height: 1080, dark: true },
  projector: { width: 1280, height: 800, projector: true },
  beamer: { width: 1024, height: 768, projector: true },
  telefon: { width: 375, height: 812, language: 'de' },
  rechner: { width: 1280, height: 800, language: 'de' },
};

/** Columns of a grid: a cell has 10 to 30 pixels, less than a line of words. @param {Screen} screen */
const columns = ({ width }) => (width < 500 ? 32 : 64);
/** @param {Screen} screen */
const rows = (screen) => Math.round((screen.height * columns(screen)) / screen.width);

const KEPT = fileURLToPath(new URL('looks/', import.meta.url));
/** Where a picture that differs is left. */
const FAILED = path.join(WWW, '..', 'target', 'looks');

/** A page that stands still at its moment. @param {Started} started @param {string} name @param {string} [language] @returns {Promise<Page>} */
export async function still(started, name, language = 'en') {
  const what = PICTURES[name];
  if (typeof what !== 'string') {
    const page = await screen(started, what[0], { language });
    await put(page, what[0], STATES[what[0]][what[1]]);
    return page;
  }
  const { page } = await open(started, `${what}&lang=${language}`, { url: started.server.url });
  await page.evaluate(async () => {
    document.querySelector('.hint')?.remove();
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    session.clock.pause();
    while (!session.runs().every((/** @type {any} */ run) => run.explore(50))) await new Promise(requestAnimationFrame);
    session.clock.touch();
  });
  return page;
}

/** Puts the page on a screen. @param {Page} page @param {Screen} screen */
export async function shown(page, { width, height, dark = false, projector = false }) {
  await page.setViewport({ width, height });
  await page.evaluate((theme, on) => {
    const root = document.documentElement;
    root.dataset.theme = theme;
    root.toggleAttribute('data-projector', on);
    const session = /** @type {any} */ (document.querySelector('servent-lab'))?.session;
    session?.emit('theme');
    session?.clock.touch();
  }, dark ? 'dark' : 'light', projector);
  await faded(page);
  await frame(page);
  // Where a picture is scrolled to depends on the windows before this one, and may still change.
  await page.evaluate(() => {
    const { axis, scroller, session } = /** @type {any} */ (document.querySelector('.panes > :not([hidden])')) ?? {};
    if (axis && scroller) scroller.scrollTop = axis.of(session.run.now) - scroller.clientHeight / 2;
  });
  await frame(page);
}

/** @param {Page} page @returns {Promise<Uint8Array>} */
const drawn = (page) => page.screenshot({ optimizeForSpeed: true });

/** Goes through all pictures of one thing. @param {Started} started @param {string} name @param {(screen: string, page: Page, file: Uint8Array) => Promise<void>} look */
async function walk(started, name, look) {
  for (const language of ['en', 'de']) {
    const page = await still(started, name, language);
    for (const [screen, how] of Object.entries(SCREENS)) {
      if ((how.language ?? 'en') !== language) continue;
      await shown(page, how);
      await look(screen, page, await drawn(page));
    }
    await page.close();
  }
}

/** The grids that were kept. @param {string} name @returns {Record<string, Picture>} */
export function kept(name) {
  const file = path.join(KEPT, `${name}.png`);
  if (!existsSync(file)) throw new Error(`${file} is missing: node tests/looks.js --renew`);
  const whole = decoded(readFileSync(file));
  let left = 0;
  return Object.fromEntries(Object.entries(SCREENS).map(([screen, how]) => {
    const grid = cut(whole, left, columns(how), rows(how));
    left += columns(how) + 1;
    return [screen, grid];
  }));
}

/** @param {Uint8Array} file @param {Screen} screen */
export const gridOf = (file, screen) => reduced(decoded(file), columns(screen));
/** The same with fewer shades, in half of the bytes: much less than what is tolerated. @param {Picture} grid @returns {Picture} */
const coarser = (grid) => ({ ...grid, rgb: grid.rgb.map((byte) => (byte & ~3) + 2) });

/** What stands at a point of the page, in the words of its style sheet. @param {Page} page @param {number} x @param {number} y */
const partAt = (page, x, y) => page.evaluate((left, top) => {
  const path = [];
  for (let node = document.elementFromPoint(left, top); node && node !== document.body; node = node.parentElement) {
    const name = node.classList[0] ? `.${node.classList[0]}` : node.localName.includes('-') || node.localName === 'main' ? node.localName : '';
    if (name) path.unshift(name);
  }
  return path.slice(-3).join(' ') || 'the page';
}, x, y);

/**
 * Where the page differs from what was kept, in words; the picture and what differs are left
 * in `target/looks`.
 * @param {Page} page @param {string} name @param {string} screen @param {Picture} before @param {Uint8Array} file @param {boolean} [leave]
 */
export async function compared(page, name, screen, before, file, leave = true) {
  const how = SCREENS[screen];
  const now = gridOf(file, how);
  const regions = differences(before, now);
  if (!regions.length) return [];
  if (leave) {
    mkdirSync(FAILED, { recursive: true });
    writeFileSync(path.join(FAILED, `${name}-${screen}.png`), file);
    writeFileSync(path.join(FAILED, `${name}-${screen}-difference.png`), encoded(enlarged(sheet([before, now, marked(before, now)]), 8)));
  }
  const cell = how.width / columns(how);
  return Promise.all(regions.map(async ({ left, top, right, bottom, cells, most }) => {
    const [x, y] = [((left + right) / 2) * cell, ((top + bottom) / 2) * cell];
    const box = [left, right, top, bottom].map((edge) => Math.round(edge * cell));
    return `${name} at ${how.width} × ${how.height} (${screen}): ${await partAt(page, x, y)}, ${box[0]}–${box[1]} × ${box[2]}–${box[3]} px, ${cells} cells, ${most.toFixed(1)} times what is tolerated`;
  }));
}

/** Everything in which a thing differs from what was kept. @param {Started} started @param {string} name */
export async function changed(started, name) {
  const before = kept(name);
  const found = /** @type {string[]} */ ([]);
  await walk(started, name, async (screen, page, file) => { found.push(...await compared(page, name, screen, before[screen], file)); });
  return found;
}

/** @param {string[]} args */
async function main([first, ...names]) {
  const renew = first === '--renew';
  const folder = path.resolve(first ?? 'looks');
  mkdirSync(renew ? KEPT : folder, { recursive: true });
  const started = await start('chromium', ROOM);
  try {
    for (const name of names.length ? names : Object.keys(PICTURES)) {
      const grids = /** @type {Record<string, Picture>} */ ({});
      await walk(started, name, async (screen, _, file) => {
        if (renew) grids[screen] = coarser(gridOf(file, SCREENS[screen]));
        else writeFileSync(path.join(folder, `${name}-${screen}.png`), file);
      });
      if (renew) writeFileSync(path.join(KEPT, `${name}.png`), encoded(sheet(Object.keys(SCREENS).map((screen) => grids[screen]))));
    }
  } finally {
    await started.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
