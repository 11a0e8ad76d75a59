/**
 * `cargo xtask campaign room`: `TABS` pages in one room for `SECONDS`, each behind a wire of its own, of which one after the other
 * is closed, loaded again, put to sleep while its sockets die, or has its network cut for ten seconds, while all wait in one line.
 * It ends with an error when a place that was told is lost, a download is stuck, the servent takes too much, or a tape of anybody
 * does not verify.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { asleep, far } from '../asleep.js';
import { BROWSERS, start } from '../browser.js';
import { PROGRAM, join, roomWith } from '../room.js';
import { wire } from '../wire.js';

const TABS = Number(process.env.TABS ?? 40);
const SECONDS = Number(process.env.SECONDS ?? 600);
/** The file in the line, and how fast all uploads together are: so a line forms. */
const SONG = 4_000_000;
const RATE = SONG * 2;
/** Every tab is hit about once in so many seconds: milliseconds between two blows. */
const BLOW_MS = Math.max(500, Number(process.env.EVERY ?? 120) * 1000 / TABS);
const CUT_MS = 10_000;
/** A page sleeps that long, at least and at most: within the minute of which every window is wider. */
const SLEEP_MS = [10_000, 45_000];
const MINUTE_MS = 60_000;
/** A download that has not ended so long after the last blow is stuck, in milliseconds. */
const STUCK_MS = 240_000;
/** What the servent may take. */
const MEMORY_MB = 512;
const CORES = 1;

/** Draws in an order that a seed repeats. @param {number} seed */
function dice(seed) {
  let state = seed >>> 0;
  return (/** @type {number} */ below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}
const roll = dice(Number(process.env.SEED ?? 1));
const later = (/** @type {number} */ ms) => new Promise((next) => setTimeout(next, ms));

const folder = mkdtempSync(path.join(tmpdir(), 'servent-churn-'));
const file = path.join(folder, 'room.sqlog');
const here = await roomWith(SONG, ['--record', file, '--set', 'limits.connections_per_ip=1024', '--set', `upload_rate=${RATE}`]);
const browsers = await Promise.all(BROWSERS.map((name) => start(name)));
const { port } = await (await fetch(`${here.url}api/part`)).json();

/** Bytes in memory, and seconds of a processor. */
function taken() {
  const stat = readFileSync(`/proc/${here.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const pages = Number(readFileSync(`/proc/${here.pid}/statm`, 'utf8').split(' ')[1]);
  return { mb: pages * 4096 / 1e6, cpu: (Number(stat[11]) + Number(stat[12])) / 100 };
}

/** Downloads the song again and again, by its own node: only the tab in front is drawn. */
function work() {
  const screen = /** @type {any} */ (document.querySelector('part-screen'));
  const { peer, door } = screen;
  [screen.hidden, door.changed] = [true, () => {}];
  const hits = /** @type {any[]} */ ([]);
  let [search, asked] = [0, 0];
  setInterval(() => {
    hits.push(...peer.answers().flatMap((/** @type {any} */ answer) => answer.found ?? []));
    const { done, node } = peer.view(1);
    for (const { part } of done) {
      peer.forget(part);
      screen.dataset.done = String(Number(screen.dataset.done ?? 0) + 1);
    }
    if (screen.dataset.rests !== undefined || node.fetches.some((/** @type {any} */ fetch) => fetch.state !== 'done')) return;
    for (const { fetch } of node.fetches) peer.cancel(fetch);
    const at = hits.findIndex((hit) => !hit.push && hit.name.includes('song'));
    if (at >= 0) peer.get(Uint32Array.of(at));
    else if (Date.now() - asked > 5000) {
      if (search) peer.endSearch(search);
      [search, asked] = [peer.search('song'), Date.now()];
    }
  }, 500);
}

/** @typedef {{page: any, browser: any, name: string, line: Awaited<ReturnType<typeof wire>>, done: number, away: Promise<void>|null}} Tab */
const tabs = /** @type {Tab[]} */ ([]);
async function open(/** @type {any} */ browser, /** @type {Tab['line']} */ line) {
  const { page } = await join(browser, here.url, 1280, far, line.port, MINUTE_MS);
  await page.evaluate(work);
  return page;
}
for (let n = 0; n < TABS; n += 1) {
  const [{ browser }, line] = [browsers[n % browsers.length], await wire(port)];
  tabs.push({ page: await open(browser, line), browser, name: BROWSERS[n % browsers.length], line, done: 0, away: null });
}
const count = async (/** @type {Tab} */ tab) => { tab.done += Number(await tab.page.evaluate(() => { const screen = /** @type {any} */ (document.querySelector('part-screen')); const n = screen?.dataset.done ?? 0; if (screen) screen.dataset.done = '0'; return n; }).catch(() => 0)); };

/** Something that goes on while others are hit. @param {Tab} tab @param {Promise<void>} what */
const meanwhile = (tab, what) => { tab.away = what.finally(() => { tab.away = null; }); };
const blows = /** @type {Record<string, (tab: Tab) => Promise<void>>} */ ({
  close: async (tab) => {
    await tab.page.close();
    tab.page = await open(tab.browser, tab.line);
  },
  reload: async (tab) => {
    await tab.page.reload();
    await tab.page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
    await tab.page.evaluate(work);
  },
  sleep: async (tab) => {
    const [least, most] = SLEEP_MS;
    const ms = least + roll(most - least);
    meanwhile(tab, asleep(tab.page, tab.name === 'chromium', async () => {
      tab.line.die();
      await later(ms);
      tab.line.live();
    }));
  },
  cut: async (tab) => {
    tab.line.cut();
    meanwhile(tab, later(CUT_MS).then(() => tab.line.mend()));
  },
});
/** Dealt like cards, so that every kind comes. @type {string[]} */
const hand = [];
function drawn() {
  if (!hand.length) hand.push(...Object.keys(blows));
  return hand.splice(roll(hand.length), 1)[0];
}
const hit = /** @type {Record<string, number>} */ ({});
const [began, before] = [Date.now(), taken()];
let most = before.mb;
console.log(`# ${TABS} pages are here, ${before.mb.toFixed(0)} MB`);
while (Date.now() - began < SECONDS * 1000) {
  const awake = tabs.filter(({ away }) => !away);
  if (!awake.length) {
    await later(BLOW_MS);
    continue;
  }
  const [tab, what] = [awake[roll(awake.length)], drawn()];
  await count(tab);
  await blows[what](tab);
  hit[what] = (hit[what] ?? 0) + 1;
  most = Math.max(most, taken().mb);
  await later(BLOW_MS);
}
await Promise.all(tabs.map(({ away }) => away));
const { cpu } = taken();
const cores = (cpu - before.cpu) / ((Date.now() - began) / 1000);

// No page begins anew; what is going on has to end.
for (const { page } of tabs) await page.evaluate(() => { /** @type {any} */ (document.querySelector('part-screen')).dataset.rests = ''; });
const until = Date.now() + STUCK_MS;
let stuck = TABS;
for (; stuck && Date.now() < until; await later(1000)) {
  const busy = await Promise.all(tabs.map(({ page }) => page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).node.fetches.some((/** @type {any} */ fetch) => fetch.state !== 'done'))));
  stuck = busy.filter(Boolean).length;
}
for (const tab of tabs) await count(tab);
most = Math.max(most, taken().mb);
// The pages are still here and hand in the end of their tapes.
await here.close();
await Promise.all(browsers.map((one) => one.close()));
for (const { line } of tabs) line.close();

const replayed = spawnSync(String(PROGRAM), ['room', 'replay', file, '--json'], { maxBuffer: 1 << 28 });
const report = JSON.parse(replayed.stdout.toString());
const lost = (readFileSync(file, 'latin1').match(/"name":"fetch:place_lost"/g) ?? []).length;
rmSync(folder, { recursive: true, force: true });

let missed = 0;
const row = (/** @type {string} */ what, /** @type {string} */ figure, /** @type {boolean} */ holds) => {
  if (!holds) missed += 1;
  console.log(`${holds ? 'holds ' : 'MISSED'}  ${what.padEnd(44)}${figure}`);
};
const done = tabs.reduce((sum, tab) => sum + tab.done, 0);
row('pages and blows', `${TABS} pages, ${Object.entries(hit).map(([what, n]) => `${n} ${what}`).join(', ')} in ${SECONDS} s`, true);
row('downloads that ended', String(done), done >= TABS / 2);
row('places lost that were told', String(lost), lost === 0);
row('stuck downloads', String(stuck), stuck === 0);
row('memory of the servent, at most', `${most.toFixed(0)} MB of ${MEMORY_MB}`, most <= MEMORY_MB);
row('cores of the servent', `${cores.toFixed(2)} of ${CORES}`, cores <= CORES);
row('tapes', `${report.nodes.length}, ${report.verified ? 'all verified' : 'not all verified'}`, report.verified);
row('hits that have their query', `${report.merged.hits - report.merged.unasked.length} of ${report.merged.hits}`, report.merged.unasked.length === 0);
if (missed) process.exitCode = 1;
