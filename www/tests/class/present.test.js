/** Who is in the room as its screens say it, and where a page stands in line as it says it itself. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, start } from '../browser.js';
import { BUSY, STATES } from '../classroom.js';
import { PROGRAM, find, join, room, roomWith, tap, until } from '../room.js';

/** Bytes in a second of an upload, and of the file: it lasts longer than a waiting page is kept without an answer. */
const RATE = 200_000;
const SIZE = 6_000_000;

/** A browser that keeps nothing: a page that is loaded anew there is another one. */
const forgetful = () => { Object.defineProperty(window, 'indexedDB', { value: { open() { throw new Error('no storage'); } } }); };

/** What of something made up the real one does not have; of a list the first stands for all, and what is counted by number has no names. @param {any} madeUp @param {any} real @param {string} [at] @returns {string[]} */
function unreal(madeUp, real, at = '') {
  if (madeUp === null || real === null || typeof madeUp !== 'object') return [];
  if (Array.isArray(madeUp)) return Array.isArray(real) ? (real.length && madeUp.length ? unreal(madeUp[0], real[0], `${at}[]`) : []) : [at];
  return Object.keys(madeUp).filter((key) => !/^\d+$/.test(key)).flatMap((key) => (real === undefined || !(key in real) ? [`${at}.${key}`] : unreal(madeUp[key], real[key], `${at}.${key}`)));
}

/** @param {any} page */
const called = (page) => page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1).called);

/** Waits until a screen says so. @param {any} page @param {string} selector @param {string} words */
const says = (page, selector, words) => page.waitForFunction((/** @type {string} */ where, /** @type {string} */ what) => document.querySelector(where)?.textContent?.includes(what), {}, selector, words);

/** Those who are listed. @param {any} host @param {number} n */
const listed = (host, n) => host.waitForFunction((/** @type {number} */ wanted) => document.querySelectorAll('[data-list="pages"] li[data-hue]').length === wanted, {}, n);

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    /** @type {import('puppeteer-core').Browser} */ let browser;
    before(async () => {
      started = await start(name);
      ({ browser } = started);
    });
    after(() => started.close());

    test('wb_9_a_listed_page_is_here_and_one_that_was_loaded_anew_or_closed_is_not_listed_as_silent', async (t) => {
      const here = await room();
      t.after(() => here.close());
      const { page } = await join(browser, here.url, 390, forgetful);
      await called(page);
      const [host, screen] = [await browser.newPage(), await browser.newPage()];
      t.after(() => Promise.all([host.close(), screen.close()]));
      await host.goto(here.host);
      await screen.goto(here.screen);
      await host.bringToFront();
      await listed(host, 1);
      // What a host can do with a page can be reached on a small phone, too.
      await host.setViewport({ width: 320, height: 568 });
      await host.waitForFunction(() => document.querySelectorAll('[data-list="people"] button').length === 2);
      assert.deepEqual(await host.$$eval('host-screen button', (/** @type {any[]} */ all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.textContent)), []);
      const first = await page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).named);

      // It is cut off from the servent, and is in the room all the same.
      const act = (/** @type {unknown} */ what) => host.evaluate((body) => fetch('api/room', { method: 'POST', headers: { 'content-type': 'application/json' }, body }), JSON.stringify(what));
      await act({ cut: first.name });
      await says(host, '[data-list="people"]', 'cut off');
      await host.waitForFunction(async () => !(await (await fetch('api/room')).json()).people.length, { polling: 100 });
      await says(host, '.part-state', 'One is here');
      await screen.bringToFront();
      await says(screen, '.room-here h2', 'One is here');
      // It stands on the map, and without a link.
      await screen.waitForFunction(() => document.querySelectorAll('.room-one').length === 1 && !document.querySelector('.room-link'));
      await act({ mend: first.name });

      await page.bringToFront();
      await page.reload();
      await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      await called(page);
      const second = await page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).named);
      assert.notEqual(second.line[0], first.line[0], 'it keeps nothing');
      await host.bringToFront();
      await says(host, '[data-list="pages"]', second.name);
      await listed(host, 1);

      await page.close();
      await says(host, '[data-list="pages"]', 'No page yet.');
      await says(host, '.part-state', 'No page is here yet');
    });

    test('a room that is made up for the tests says what a real one says', async (t) => {
      const here = await room('--code');
      t.after(() => here.close());
      const said = async () => (await here.ask('api/room')).json();
      const act = (/** @type {unknown} */ what) => here.ask('api/room', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(what) });
      await act({ code: false });
      const { page } = await join(browser, here.url, 390);
      await called(page);
      await act({ record: true });
      await act({ teach: { lesson: 'find-the-song' } });
      await until(async () => { const { people, class: { pages } } = await said(); return people.length && pages.length; });
      const real = await said();
      for (const which of /** @type {const} */ (['host', 'room'])) for (const state of Object.values(STATES[which])) assert.deepEqual(unreal(state, real), []);
      await find(page, 'song');
      await tap(page, '[data-list="search"] button');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).node.fetches.length);
      assert.deepEqual(unreal(BUSY, await page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1))), []);
    });

    test('wb_9_a_page_that_waits_says_its_place_as_soon_as_it_is_told', async (t) => {
      const here = await roomWith(SIZE, ['--slots', '1', '--set', `upload_rate_per_peer=${RATE}`, '--set', 'queue.hold=3s']);
      t.after(() => here.close());
      const note = '[data-list="downloads"] small';
      /** @type {any} */ let last;
      for (const words of ['MB of', 'its place in line']) {
        const { page } = await join(browser, here.url, 390);
        await page.bringToFront();
        await find(page, 'song');
        await tap(page, '[data-list="search"] button');
        await says(page, note, words);
        last = page;
      }
      await says(last, note, 'place 1');
    });
  });
}
