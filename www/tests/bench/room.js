/**
 * What `cargo xtask bench room` measures: a room of the real program, in real browsers. A line for each row; it ends with an
 * error when a bound is missed. `QUICK` makes all of it small, for a look.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { BROWSERS, start } from '../browser.js';
import { find, join, roomWith } from '../room.js';

const QUICK = process.env.QUICK === '1';
/** Bytes of the file that a page downloads. */
const FILE = QUICK ? 20_000_000 : 100_000_000;
/** Searches, and milliseconds between two. */
const SEARCHES = QUICK ? 10 : 60;
const GAP_MS = 150;
const CROWD = QUICK ? 6 : 30;
/** The bounds: of the rate of `fetch()`, and milliseconds. */
const RATE = 0.5;
const HIT_MS = 50;

let missed = 0;

/** @param {string} what @param {string} figure @param {string} bound @param {boolean} holds */
function row(what, figure, bound, holds) {
  if (!holds) missed += 1;
  const fact = { what, figure, bound, holds };
  console.log(process.env.JSON_LINES === '1' ? JSON.stringify(fact) : `${holds ? 'holds ' : 'MISSED'}  ${what.padEnd(58)}${figure.padEnd(44)}${bound}`);
}

/** Another program of the tests; whether it holds, and what it has said. @param {string} file @param {Record<string, string>} env @returns {Promise<[boolean, string]>} */
function tested(file, env) {
  return new Promise((resolve) => {
    const run = spawn(process.execPath, ['--test', file], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    run.stdout.on('data', (data) => { said += data; });
    run.once('exit', (code) => resolve([code === 0, said]));
  });
}

/** The page's own download, in milliseconds, and whether it is the file. @param {any} page @param {string} sha1 */
async function downloaded(page, sha1) {
  await find(page, 'song');
  const took = await page.evaluate(() => new Promise((done) => {
    const { peer } = /** @type {any} */ (document.querySelector('part-screen'));
    const began = performance.now();
    /** @type {any} */ (document.querySelector('[data-list="search"] button')).click();
    const look = setInterval(() => { if (peer.view(1).done.length) { clearInterval(look); done(performance.now() - began); } }, 5);
  }));
  const got = await page.evaluate(async () => {
    const screen = /** @type {any} */ (document.querySelector('part-screen'));
    const [file] = screen.peer.view(1).done;
    const bytes = await (await screen.door.file(file.part, file.size)).arrayBuffer();
    return [...new Uint8Array(await crypto.subtle.digest('SHA-1', bytes))].map((b) => b.toString(16).padStart(2, '0')).join('');
  });
  return { took, same: got === sha1 };
}

/** `fetch()` of the same file in the same browser, in milliseconds: as it streams, as the page's own does. @param {import('puppeteer-core').Browser} browser @param {string} url */
async function fetched(browser, url) {
  const href = /href="([^"]*song[^"]*)"/.exec(await (await fetch(url)).text())?.[1] ?? '';
  const page = await browser.newPage();
  // The listing lets no script fetch anything; what is not there has no policy, and the same origin.
  await page.goto(`${url}nothing`);
  const took = await page.evaluate(async (/** @type {string} */ file, /** @type {number} */ size) => {
    const began = performance.now();
    const reader = /** @type {any} */ (await fetch(file)).body.getReader();
    let bytes = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) bytes += next.value.length;
    if (bytes !== size) throw new Error(`${bytes} of ${size} bytes`);
    return performance.now() - began;
  }, new URL(href, url).href, FILE);
  await page.close();
  return took;
}

/** From each search to its first hit, in milliseconds. @param {any} page */
const hits = (page) => page.evaluate(async (/** @type {number} */ count, /** @type {number} */ gap) => {
  const screen = /** @type {any} */ (document.querySelector('part-screen'));
  const { peer, door } = screen;
  screen.hidden = true; // It would hear the answers itself.
  const took = [];
  for (let n = 0; n < count; n += 1) {
    const began = performance.now();
    const search = peer.search('song');
    took.push(await new Promise((done) => {
      const give = setTimeout(() => done(Infinity), 5000);
      // Its servent is at work while it says that something has changed.
      door.changed = () => queueMicrotask(() => {
        if (!peer.answers().some((/** @type {any} */ answer) => answer.found?.search === search)) return;
        clearTimeout(give);
        done(performance.now() - began);
      });
    }));
    peer.endSearch(search);
    await new Promise((next) => setTimeout(next, gap));
  }
  return took.sort((a, b) => a - b);
}, SEARCHES, GAP_MS);

for (const name of BROWSERS) {
  const here = await roomWith(FILE, []);
  const { browser, close } = await start(name);
  const sha1 = createHash('sha1').update(here.song).digest('hex');
  const { page } = await join(browser, here.url);
  const { port } = await (await fetch(`${here.url}api/part`)).json();
  const plain = await fetched(browser, `http://127.0.0.1:${port}/`);
  await page.bringToFront();
  const { took, same } = await downloaded(page, sha1);
  const mb = (/** @type {number} */ ms) => (FILE / 1000 / ms).toFixed(0);
  row(`${name}: ${FILE / 1e6} MB by a page, beside fetch()`, `${mb(took)} MB/s beside ${mb(plain)}: ${(plain / took).toFixed(2)}`, `at least ${RATE}, byte for byte`, same && plain / took >= RATE);
  const all = await hits(page);
  const at = (/** @type {number} */ part) => all[Math.floor(all.length * part)].toFixed(1);
  row(`${name}: from a search to its hit, ${SEARCHES} times`, `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`, `p50 at most ${HIT_MS} ms`, all[all.length >> 1] <= HIT_MS);
  await close();
  await here.close();
}

const [crowd, said] = await tested('tests/class/crowd.test.js', { CROWD: String(CROWD) });
const seconds = /has both files after (\d+) ms/.exec(said)?.[1];
row(`${CROWD} pages of ${BROWSERS.join(' and ')} in one room`, seconds ? `everybody has both files after ${(Number(seconds) / 1000).toFixed(1)} s` : 'it failed', 'nothing lost, every tape verified', crowd);
const [channel] = await tested('tests/room/channel.test.js', {});
row('from page to page, datagrams lost on purpose', channel ? 'byte for byte' : 'it failed', 'in order and once', channel);
if (missed) {
  console.error(`${missed} bounds are missed`);
  process.exitCode = 1;
}
