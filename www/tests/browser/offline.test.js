/** A hosted copy works without its server after one visit; the single file from disk without any. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BROWSERS, open, start, state } from '../browser.js';
import { WWW } from '../serve.js';

/** @import { Page } from 'puppeteer-core' */

/** The caches of the page. @param {Page} page */
const kept = (page) => page.evaluate(async () => (await caches.keys()).sort());

/** What the page keeps is complete, and in use. @param {Page} page */
const ready = (page) => page.evaluate(async () => {
  await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller) await new Promise((done) => navigator.serviceWorker.addEventListener('controllerchange', done, { once: true }));
});

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name, {}); });
    after(() => started.close());

    test('what an older build kept is removed, and nothing of others', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire');
      await page.evaluate(() => Promise.all([caches.open('servent-lab-older'), caches.open('another-page')]));
      await ready(page);
      await page.evaluate(async () => (await navigator.serviceWorker.ready).unregister());
      await page.evaluate(() => caches.open('servent-lab-older'));
      await page.reload();
      await ready(page);
      const names = await kept(page);
      assert.equal(names.length, 2, names.join());
      assert.equal(names[0], 'another-page');
      assert.match(names[1], /^servent-lab-[0-9a-f]+$/);
      await page.close();
    });

    test('after one visit the page works without its server, all views and both languages', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire');
      await ready(page);
      started.server.close();
      for (const hash of ['queue?p=one-cut-wire', 'routing?p=round-and-back', 'unicast?p=lose-middle', 'swarm?p=two-for-one', 'queue?les=cut-the-wire/2&lang=de']) {
        await page.goto('about:blank');
        await page.goto(`${started.server.url}#1/${hash}`);
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab'))?.session?.run);
        assert.equal((await state(page)).view, hash.split('?')[0]);
      }
      assert.equal(await page.evaluate(() => document.documentElement.lang), 'de');
      await page.close();
    });

    test('the single file works from disk, all views and both languages', async () => {
      const file = path.join(WWW, '../dist/servent-lab.html');
      assert.ok(existsSync(file), 'cargo xtask page writes it');
      for (const hash of ['queue?p=one-cut-wire', 'swarm?p=two-for-one', 'queue?les=cut-the-wire/2&lang=de']) {
        const { page, complaints } = await open(started, `#1/${hash}`, { url: pathToFileURL(file).href });
        assert.equal((await state(page)).view, hash.split('?')[0]);
        assert.deepEqual(complaints, []);
        await page.close();
      }
    });
  });
}
