/** A room of the real program, and pages that join it, for the tests. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { patient } from './browser.js';
import { end, heard, run } from './program.js';
import { WWW } from './serve.js';

export { PROGRAM } from './program.js';
/** Pages that joined, until their room is closed: a tab that stays open would work on beside all later tests. */
const pages = /** @type {Set<import('puppeteer-core').Page>} */ (new Set());
/** Bytes of its song. */
export const SIZE = 3_000_000;

/** A room on free ports of the loopback, with one song. @param {string[]} more @returns {Promise<any>} */
export const room = (...more) => roomWith(SIZE, more);

/** The same with a song of so many bytes. @param {number} size @param {string[]} more @returns {Promise<any>} */
export async function roomWith(size, more) {
  const dir = mkdtempSync(path.join(tmpdir(), 'servent-room-'));
  const song = randomBytes(size);
  writeFileSync(path.join(dir, 'long song.ogg'), song);
  const child = run(['room', path.join(dir, 'long song.ogg'), '--json', '--listen', '127.0.0.1:0', '--page', '127.0.0.1:0', '--state', path.join(dir, 'state'), '--set', `www=${WWW}`, ...more]);
  const facts = await heard(child, ['host', 'screen', 'hashed']);
  const close = async () => {
    await end(child);
    rmSync(dir, { recursive: true, force: true });
    // After the servent: the last thing that its pages hear is that it ends.
    for (const page of pages) if (!page.isClosed()) await page.close().catch(() => {});
    pages.clear();
  };
  // What only the host can ask for.
  const headers = { cookie: `servent-lab=${new URL(facts.host.url).searchParams.get('key')}` };
  const ask = (/** @type {string} */ path, /** @type {any} */ how = {}) => fetch(`${facts.room.url}${path}`, { ...how, headers: { ...headers, ...how.headers } });
  return { song, url: facts.room.url, host: facts.host.url, screen: facts.screen.url, ask, code: facts.code?.code, pid: child.pid, close };
}

/** @param {import('puppeteer-core').Browser} browser @param {string} url @param {(...with_: any[]) => void} [first] what the page does before anything else @param {unknown[]} using with what */
export async function join(browser, url, width = 1280, first = undefined, ...using) {
  const page = patient(await browser.newPage());
  pages.add(page);
  if (first) await page.evaluateOnNewDocument(first, ...using);
  const complaints = /** @type {string[]} */ ([]);
  page.on('console', (message) => { if (['error', 'warn', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.setViewport({ width, height: 860 });
  await page.goto(url);
  await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
  return { page, complaints };
}

/** Shares a file of its own, and is ready to be called. @param {any} page @param {string} name @param {Buffer} data */
export async function give(page, name, data) {
  await page.evaluate((/** @type {any} */ called, /** @type {any} */ text) => {
    const file = new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], called);
    /** @type {any} */ (document.querySelector('part-screen')).peer.share(file);
  }, name, data.toString('base64'));
  await page.waitForFunction(() => { const { shares, called } = /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1); return called && shares[0]?.sha1; });
}

/** Searches until the file is there: a neighbour may have come a moment ago. @param {any} page @param {string} words */
export async function find(page, words) {
  for (let tries = 0; tries < 40; tries += 1) {
    await page.$eval('.part-form input', (/** @type {any} */ input, /** @type {string} */ text) => { input.value = text; input.form.requestSubmit(); }, words);
    const found = await page.waitForSelector('[data-list="search"] li:not(.part-empty)', { timeout: 1500 }).catch(() => null);
    if (found) return;
  }
  assert.fail(`no program answers ${words}`);
}

/** Asks again and again until something is so, for a minute at most: a test that waits for ever hides those after it. @param {() => Promise<boolean>} ready */
export async function until(ready) {
  const end = performance.now() + 60_000;
  while (!await ready()) {
    if (performance.now() > end) assert.fail(`after a minute still not so: ${ready}`);
    await new Promise((next) => setTimeout(next, 100));
  }
}

/** Taps a button, wherever it is by then: a browser drops a click at a place before it has shown the first picture, and misses what has moved. @param {any} page @param {string} selector */
export async function tap(page, selector) {
  await page.waitForSelector(selector);
  await page.$eval(selector, (/** @type {any} */ button) => button.click());
}

export const finished = (/** @type {any} */ page) => page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1).done.length === 1, { timeout: 60_000 });

/** The SHA-1 of the one complete download. @param {any} page */
export const digest = (page) => page.evaluate(async () => {
  const screen = /** @type {any} */ (document.querySelector('part-screen'));
  const [file] = screen.peer.view(1).done;
  const got = await (await screen.door.file(file.part, file.size)).arrayBuffer();
  return [...new Uint8Array(await crypto.subtle.digest('SHA-1', got))].map((b) => b.toString(16).padStart(2, '0')).join('');
});
