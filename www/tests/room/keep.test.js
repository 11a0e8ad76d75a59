/** What a page keeps of its downloads: they go on after a reload, wherever they were begun; what is full is said; nothing is left behind. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, start } from '../browser.js';
import { PROGRAM, digest, find, finished, join, roomWith, tap } from '../room.js';

/** Bytes of the song, how fast it comes, and how much of it is there before the page is left. */
const [SONG, RATE, PART] = [14_000_000, 4_000_000, 4_000_000];

const have = () => /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1).node.fetches[0]?.have;
const ready = (/** @type {any} */ page) => page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
const ask = async (/** @type {any} */ page) => {
  await find(page, 'song');
  await tap(page, '[data-list="search"] button');
};

/** The folder of this tab's files: what is in it. @param {any} page @returns {Promise<string[]>} */
const names = (page) => page.evaluate(async () => {
  const root = await navigator.storage.getDirectory();
  const folder = /** @type {any} */ (await root.getDirectoryHandle(`servent-${sessionStorage.getItem('servent.tab')}`));
  const all = [];
  for await (const name of folder.keys()) all.push(name);
  return all;
});

/** What an earlier version of the page has left: pieces as blobs in the database, and no files. */
async function asBefore() {
  const tab = `servent-${sessionStorage.getItem('servent.tab')}`;
  const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle(tab);
  const opening = indexedDB.open(tab);
  const db = await new Promise((opened) => { opening.onsuccess = () => opened(opening.result); });
  let moved = 0;
  for await (const name of /** @type {any} */ (folder).keys()) {
    const bytes = await (await (await folder.getFileHandle(name)).getFile()).arrayBuffer();
    const work = db.transaction('pieces', 'readwrite');
    work.objectStore('pieces').put(new Blob([bytes]), [Number(name), 0]);
    await new Promise((kept) => { work.oncomplete = kept; });
    await folder.removeEntry(name);
    moved += bytes.byteLength;
  }
  db.close();
  return moved;
}

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    /** @type {any} */ let here;
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    before(async () => { [here, started] = await Promise.all([roomWith(SONG, ['--set', `upload_rate=${RATE}`]), start(name)]); });
    after(async () => {
      await started.close();
      await here.close();
    });
    const song = () => createHash('sha1').update(here.song).digest('hex');

    for (const earlier of [false, true]) test(`wb_2_a_download_${earlier ? 'of_an_earlier_version_' : ''}goes_on_where_it_was_when_the_page_is_loaded_again`, async () => {
      const { page, complaints } = await join(started.browser, here.url);
      await ask(page);
      await page.waitForFunction((/** @type {number} */ part) => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).node.fetches[0]?.have >= part, {}, PART);
      const faults = [...complaints];
      if (earlier) {
        // Another page of the same origin, so that nothing is open.
        await page.goto(`${here.url}css/base.css`);
        assert.ok(await page.evaluate(asBefore) >= PART);
      }
      await page.goto(here.url);
      complaints.length = 0; // That page has no icon.
      await ready(page);
      assert.ok(await page.evaluate(have) >= PART, 'what was there is there');
      await finished(page);
      assert.equal(await digest(page), song());
      assert.equal((await names(page)).length, earlier ? 0 : 1);
      // What is complete is found again, too; what no download knows of is not kept.
      await page.evaluate(async () => {
        const root = await navigator.storage.getDirectory();
        await (await root.getDirectoryHandle(`servent-${sessionStorage.getItem('servent.tab')}`)).getFileHandle('1', { create: true });
      });
      await page.reload();
      await ready(page);
      assert.equal(await digest(page), song());
      assert.equal((await names(page)).length, earlier ? 0 : 1);
      await page.evaluate(() => {
        const { peer } = /** @type {any} */ (document.querySelector('part-screen'));
        peer.forget(peer.view(1).done[0].part);
      });
      await page.reload();
      await ready(page);
      assert.deepEqual(await names(page), []);
      assert.deepEqual([...faults, ...complaints], []);
      await page.close();
    });

    test('wb_2_what_was_handed_on_is_given_to_others_although_the_download_is_deleted', async () => {
      const { page } = await join(started.browser, here.url);
      await ask(page);
      await finished(page);
      const hand = '[data-list="downloads"] button[aria-label^="Hand on"]';
      await page.waitForSelector(hand);
      await tap(page, hand);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).shares[0]?.sha1);
      await page.evaluate(() => {
        const { peer } = /** @type {any} */ (document.querySelector('part-screen'));
        peer.forget(peer.view(1).done[0].part);
      });
      const other = await join(started.browser, here.url);
      await find(other.page, 'song');
      await other.page.waitForFunction(() => [...document.querySelector('part-screen')?.found.values() ?? []].some((file) => file.hits.some((hit) => hit.push)));
      await other.page.evaluate(() => {
        const { peer, found } = /** @type {any} */ (document.querySelector('part-screen'));
        const hits = [...found.values()].flatMap((/** @type {any} */ file) => file.hits).filter((hit) => hit.push);
        peer.get(Uint32Array.from(hits, ({ number }) => number));
      });
      await finished(other.page);
      assert.equal(await digest(other.page), song());
      await other.page.close();
      await page.close();
    });

    test('wb_2_a_browser_that_gives_no_more_storage_says_so', { skip: name !== 'chromium' && 'no other browser can be told to be full' }, async (t) => {
      const { page } = await join(started.browser, here.url);
      const session = await page.createCDPSession();
      t.after(() => session.send('Storage.overrideQuotaForOrigin', { origin: new URL(here.url).origin }).then(() => page.close()));
      await session.send('Storage.overrideQuotaForOrigin', { origin: new URL(here.url).origin, quotaSize: 6_000_000 });
      await ask(page);
      await page.waitForFunction(() => /ended: your browser gives no more storage/.test(document.querySelector('[data-list="downloads"] small')?.textContent ?? ''));
    });
  });
}
