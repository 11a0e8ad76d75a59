/** WB-7: a page that was put to sleep is back at its place at once, whatever became of its sockets, and hears why when the place is gone. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { asleep, far } from '../asleep.js';
import { BROWSERS, start } from '../browser.js';
import { PROGRAM, find, finished, join, roomWith, tap } from '../room.js';
import { wire } from '../wire.js';

/** Bytes that all uploads together send in a second. */
const RATE = 1_000_000;
/** From the moment at which a page is seen again until it is back: the servent is asked for a word first. */
const BACK_MS = 5_000;
const later = (/** @type {number} */ ms) => new Promise((next) => setTimeout(next, ms));

/** Downloads the song. @param {any} page */
async function ask(page) {
  await page.bringToFront();
  await find(page, 'song');
  await tap(page, '[data-list="search"] button');
}

/** The one source of the one download. @param {any} page */
const source = (page) => page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).node.fetches[0]?.sources[0]);
const waits = (/** @type {any} */ page) => page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).node.fetches[0]?.sources[0]?.position);

/** The ids of its places, in order, and how many it has lost: from its tape. @param {any} page */
const places = (page) => page.evaluate(() => {
  const tape = new TextDecoder().decode(/** @type {any} */ (document.querySelector('part-screen')).peer.tape()).split('\n');
  const tickets = tape.filter((line) => line.includes('"fetch:queued"')).map((line) => /"ticket":"([0-9a-f]{32})"/.exec(line)?.[1]);
  return { tickets: [...new Set(tickets)], lost: tape.filter((line) => line.includes('"fetch:place_lost"')).length };
});

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    /** A room whose one slot is taken for so many seconds, and a page behind a wire that waits. Every interval of the line is shorter by `scale`. @param {number} seconds @param {number} scale */
    async function waiting(seconds, scale) {
      const here = await roomWith(RATE * seconds, ['--set', 'queue.slots=1', '--set', `queue.time_scale=${scale}`, '--set', `upload_rate=${RATE}`]);
      const line = await wire((await (await fetch(`${here.url}api/part`)).json()).port);
      const minute = 60_000 / scale;
      const first = await join(started.browser, here.url);
      await ask(first.page);
      await first.page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).node.fetches[0]?.have > 0);
      const { page, complaints } = await join(started.browser, here.url, 390, far, line.port, minute);
      await ask(page);
      await waits(page);
      const close = async () => {
        line.close();
        await here.close();
      };
      return { page, line, minute, close, complaints: [first.complaints, complaints] };
    }

    for (const frozen of name === 'chromium' ? [false, true] : [false]) test(`wb_7_a_page_that_slept_is_back_at_its_place_at_once_though_its_sockets_${frozen ? 'were_closed' : 'seem_open'}`, async (t) => {
      const { page, line, minute, close, complaints } = await waiting(12, 10);
      t.after(close);
      const before = line.count();
      await asleep(page, frozen, async () => {
        line.die();
        await later(minute / 2);
        line.live();
      });
      const woke = Date.now();
      while (line.count() === before && Date.now() < woke + BACK_MS) await later(50);
      assert.ok(line.count() > before, 'it has come back');
      await page.waitForFunction(() => ['queued', 'asking', 'receiving'].includes(/** @type {any} */ (document.querySelector('part-screen')).peer.view(1).node.fetches[0]?.sources[0]?.state), { timeout: BACK_MS });
      await finished(page);
      const { tickets, lost } = await places(page);
      assert.deepEqual([tickets.length, lost], [1, 0]);
      assert.deepEqual(complaints.flat().filter((said) => !/Back-Forward Cache/.test(said)), []);
    });

    test('wb_7_a_page_that_slept_for_too_long_hears_why_its_place_is_gone', async (t) => {
      const { page, line, minute, close } = await waiting(25, 60);
      t.after(close);
      const told = await source(page);
      await asleep(page, name === 'chromium', async () => {
        line.die();
        await later(told.deadline / 1000 - Date.now() + minute);
        line.live();
      });
      await page.waitForFunction(() => /this page had not asked in time/.test(document.querySelector('[data-list="downloads"]')?.textContent ?? ''));
      const { tickets, lost } = await places(page);
      assert.deepEqual([tickets.length, lost], [2, 1]);
    });
  });
}
