/** Real browsers for the tests: those of the system, headless, each with a fresh profile. */
import { serve } from './serve.js';
import { show, tab, use } from './tab.js';
import { head } from './webkit/before.js';

/** @import { Name } from './tab.js' */
/** The browsers to test in: `BROWSERS=chromium,firefox`, or `webkit`. */
export const BROWSERS = /** @type {Name[]} */ ((process.env.BROWSERS ?? 'chromium,firefox').split(','));

/**
 * A browser, and a server for the page: the one of all tests in this process,
 * of which the browser has most files already; or, where it is said how it is
 * to be, one of which it has nothing yet.
 * @param {Name} name
 * @param {Parameters<typeof serve>[0]} [how]
 */
export async function start(name, how) {
  const first = name === 'webkit' ? { head } : {};
  const server = await (how ? serve({ ...first, ...how }) : shared[name] ??= serve({ ...first, extra: forgetful, lasting: true }));
  const { running, release } = await use(name);
  const close = async () => {
    await release();
    if (how) server.close();
  };
  return { browser: running.browser, running, server, close };
}
/** @type {Partial<Record<Name, ReturnType<typeof serve>>>} */
const shared = {};

/** A worker that keeps nothing: the next test would find it, and what it fetched ahead is not asked for again. @param {any} req @param {any} res */
export function forgetful({ url }, res) {
  if (url !== '/sw.js') return false;
  res.writeHead(200, { 'content-type': 'text/javascript' }).end();
  return true;
}

/** Waiting looks that often, in milliseconds. To look at every frame makes the browser draw every frame. */
const LOOK_MS = 40;
/** And that long: what takes a second alone takes half a minute beside two browsers on a small machine. */
const WAIT_MS = 60_000;

/** A page that waits without drawing, and so behind another one, too. @param {import('puppeteer-core').Page} page */
export function patient(page) {
  if (Object.hasOwn(page, 'waitForFunction')) return page;
  const wait = page.waitForFunction.bind(page);
  page.waitForFunction = (/** @type {any} */ what, how = {}, /** @type {any[]} */ ...args) => wait(what, { polling: LOOK_MS, timeout: WAIT_MS, ...how }, ...args);
  return page;
}

/**
 * Opens the page at a fragment and waits until it runs. What the console says
 * is gathered.
 * @param {Awaited<ReturnType<typeof start>>} started
 * @param {string} [hash]
 * @param {{width?: number, height?: number, dark?: boolean, url?: string}} [how]
 */
export async function open({ running, server }, hash = '', { width = 1280, height = 800, dark = false, url } = {}) {
  const page = patient(await tab(running));
  const complaints = /** @type {string[]} */ ([]);
  page.on('console', (message) => { if (['error', 'warn', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await show(page, url ?? server.url, hash, { width, height });
  await page.waitForFunction(() => {
    const lab = /** @type {any} */ (document.querySelector('servent-lab'));
    return lab?.session?.run && document.querySelector('.transport');
  });
  // The profile is shared between the pages of a browser: begin as the system does.
  await page.evaluate((theme) => {
    localStorage.clear();
    document.documentElement.dataset.theme = theme;
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    session.keys = true;
    // What is painted has its colours from the style sheet.
    session.emit('theme');
  }, dark ? 'dark' : 'light');
  // Light is what the browsers of the tests begin with.
  await (dark ? faded(page) : frame(page));
  return { page, complaints };
}

/** Colours fade to another theme: waits until they have. @param {import('puppeteer-core').Page} page */
export async function faded(page) {
  await frame(page);
  await page.waitForFunction(() => !document.getAnimations().some((one) => one instanceof CSSTransition && one.playState === 'running'));
}

/** What the page is about, read from its session. @param {import('puppeteer-core').Page} page */
export function state(page) {
  return page.evaluate(() => {
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    const { run } = session;
    return {
      now: run.now, index: run.index, count: run.count, digest: run.digest, kind: run.kind, view: session.view.id, mode: session.mode, playing: session.clock.playing,
      branch: session.actions.branch, branches: run.branches().length, selected: session.selection.node, end: session.clock.end, verified: run.verified(), faults: session.actions.faults().length,
    };
  });
}

/**
 * Presses something; on a small screen the part of the page it is in is unfolded first.
 * @param {import('puppeteer-core').Page} page
 * @param {string} selector
 */
export async function press(page, selector) {
  const folded = await page.$eval(selector, (n) => (n.checkVisibility() ? null : n.closest('[id^="fold-"]:not([data-open])')?.id));
  if (folded) await page.click(`[aria-controls="${folded}"]`);
  await page.click(selector);
}

/**
 * Drops a file on the page.
 * @param {import('puppeteer-core').Page} page
 * @param {string} name
 * @param {Buffer | string} content
 */
export const drop = (page, name, content) => page.evaluate((/** @type {string} */ base64, /** @type {string} */ called) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], called));
  dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
}, Buffer.from(content).toString('base64'), name);

/** Waits for the next drawn frame. @param {import('puppeteer-core').Page} page */
export const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null)))));

/** Digests at one moment, by seeking to and fro and by running a fresh world there. @param {import('puppeteer-core').Page} page */
export const soughtAndRun = (page) => page.evaluate(() => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const to = Math.floor(session.clock.end * 0.4);
  session.clock.seek(session.clock.end * 0.8);
  session.clock.seek(to);
  const fresh = session.view.fromScenario(session.scenario);
  while (fresh.now < to) if (fresh.advance(to, 100) >= to) break;
  const pair = [session.run.digest, fresh.digest];
  fresh.free();
  return pair;
});

/**
 * Opens story after story in the events table, a part of the way on: all ids,
 * and every row that does not read as a sentence.
 * @param {import('puppeteer-core').Page} page
 * @param {{but?: string, part?: number}} [how] a story to leave out; of the horizon
 */
export const oddSentences = (page, { but = '', part = 1 } = {}) => page.evaluate(async (but, part) => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const odd = [];
  const ids = session.view.presets().map((/** @type {any} */ p) => p.id);
  for (const id of ids.filter((/** @type {string} */ i) => i !== but)) {
    session.openPreset(id);
    session.setMode('events');
    for (const run of session.runs()) run.raw.seek(run.raw.horizon() * part);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const words = [...document.querySelectorAll('.events td.what')].map((n) => n.textContent ?? '');
    if (words.length < 5) odd.push(`${id}: ${words.length} rows`);
    odd.push(...words.filter((w) => !/^\S.*\.$/.test(w) || /undefined|NaN|null|\[object|_/.test(w)));
  }
  return { ids, odd };
}, but, part);

/** Copies the link by its key: what leads back to this moment. @param {import('puppeteer-core').Page} page */
export async function copiedLink(page) {
  await page.keyboard.press('c');
  await page.waitForFunction(() => location.hash.includes('h='));
  return page.evaluate(() => location.hash);
}

/**
 * Milliseconds from navigation to the first picture of a story, with nothing
 * of the page in any cache.
 * @param {Awaited<ReturnType<typeof start>>} started
 * @returns {Promise<number>}
 */
export async function firstPicture({ browser, server }) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.evaluateOnNewDocument(() => {
    new MutationObserver((_, watch) => {
      if (!document.querySelector('.card, .slot-card')) return;
      watch.disconnect();
      // The frame after the one in which it is drawn.
      requestAnimationFrame(() => requestAnimationFrame((at) => { /** @type {any} */ (globalThis).firstPicture = at; }));
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(`${server.url}#1/queue?p=rush-hour&t=60000`);
  const found = await page.waitForFunction(() => /** @type {any} */ (globalThis).firstPicture);
  const took = /** @type {number} */ (await found.jsonValue());
  await context.close();
  return took;
}
