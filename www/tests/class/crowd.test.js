/**
 * A crowd in one room: every page shares, finds the file of the next one and downloads it by way of the servent, and all
 * wait in one line for the servent's own file. `CROWD=30` says how many; without it nothing is run, because it takes minutes.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { BROWSERS, start } from '../browser.js';
import { PROGRAM, SIZE, join, room } from '../room.js';

const CROWD = Number(process.env.CROWD ?? 0);
const PIECE = 200_000;
/** Until every page has everything, in milliseconds. */
const PATIENCE = 600_000;

/** @param {any} page @param {() => Promise<boolean>|boolean} ready @param {number} until @param {string} what */
async function wait(page, ready, until, what) {
  while (!await page.evaluate(ready)) {
    assert.ok(Date.now() < until, what);
    await new Promise((next) => setTimeout(next, 250));
  }
}

test(`${CROWD} pages in one room`, { skip: (!PROGRAM || !CROWD) && 'CROWD says how many', timeout: 2 * PATIENCE }, async () => {
  const here = await room('--set', 'limits.connections_per_ip=512');
  const started = await Promise.all(BROWSERS.map((name) => start(name)));
  const until = Date.now() + PATIENCE;
  const began = Date.now();
  const works = Array.from({ length: CROWD }, () => randomBytes(PIECE));
  const pages = /** @type {any[]} */ ([]);
  for (const [n, work] of works.entries()) {
    const { page } = await join(started[n % started.length].browser, here.url);
    pages.push(page);
    await page.evaluate((/** @type {number} */ number, /** @type {string} */ text) => {
      const file = new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], `crowd work${number}end.bin`);
      /** @type {any} */ (document.querySelector('part-screen')).peer.share(file);
    }, n, work.toString('base64'));
  }
  for (const page of pages) await wait(page, () => { const { shares, called } = /** @type {any} */ (document.querySelector('part-screen')).peer.view(1); return called && shares[0]?.sha1; }, until, 'a page is ready');
  console.log(`# ${CROWD} pages are there after ${Date.now() - began} ms`);
  const searched = Date.now();
  // By its own node, because only the tab in front is drawn: the next one's file, and the line at the servent.
  await Promise.all(pages.map((page, n) => page.evaluate((/** @type {string} */ next) => {
    const screen = /** @type {any} */ (document.querySelector('part-screen'));
    const hits = /** @type {any[]} */ ([]);
    const of = (/** @type {string} */ words) => hits.findIndex((hit) => hit.name.includes(words));
    const { peer } = screen;
    [screen.hidden, screen.door.changed] = [true, () => {}]; // It would hear the answers itself.
    let tries = 0;
    const look = setInterval(() => {
      if (tries++ % 20 === 0) for (const words of [next, 'song']) if (of(words) < 0) peer.search(words);
      hits.push(...peer.answers().flatMap((/** @type {any} */ answer) => answer.found ?? []));
      const wanted = [of(next), of('song')];
      if (wanted.some((at) => at < 0)) return;
      clearInterval(look);
      for (const at of wanted) peer.get(Uint32Array.of(at));
      screen.dataset.found = '';
    }, 250);
  }, `work${(n + 1) % CROWD}end`)));
  for (const [n, page] of pages.entries()) await wait(page, () => Object.hasOwn(/** @type {any} */ (document.querySelector('part-screen')).dataset, 'found'), until, `page ${n} has found both files`);
  console.log(`# everybody has found both files after ${Date.now() - searched} ms`);
  for (const [n, page] of pages.entries()) await wait(page, () => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).done.length === 2, until, `page ${n} has both files`);
  console.log(`# everybody has both files after ${Date.now() - searched} ms`);
  const sha1 = (/** @type {Buffer} */ data) => createHash('sha1').update(data).digest('hex');
  for (const [n, page] of pages.entries()) {
    const got = await page.evaluate(async () => {
      const screen = /** @type {any} */ (document.querySelector('part-screen'));
      return Promise.all(screen.peer.view(1).done.map(async (/** @type {any} */ file) => {
        const bytes = await (await screen.door.file(file.part, file.size)).arrayBuffer();
        return [...new Uint8Array(await crypto.subtle.digest('SHA-1', bytes))].map((b) => b.toString(16).padStart(2, '0')).join('');
      }));
    });
    assert.deepEqual(got.sort(), [sha1(works[(n + 1) % CROWD]), sha1(here.song)].sort());
    const [checked, total, diverged] = await page.evaluate(async () => {
      const { Tape } = await import('#servent');
      const run = Tape.fromBytes(/** @type {any} */ (document.querySelector('part-screen')).peer.tape()).run();
      run.seek(Math.max(run.horizon(), run.frontier()));
      const told = run.verified();
      return [told.checked, told.total, told.diverged_at ?? null];
    });
    assert.ok(total > 0 && checked === total && diverged === null, `the tape of page ${n}: ${checked} of ${total}`);
  }
  const relayed = await (await here.ask('api/room')).json().then((told) => told.relayed);
  console.log(`# ${CROWD} tapes are verified; the servent passed on ${relayed.bytes} bytes for ${CROWD} × ${PIECE} of ${SIZE}`);
  await Promise.all(started.map((one) => one.close()));
  await here.close();
});
