/** Fifty seeds of the open scenario, run in workers: what they come to is what each world comes to by itself; a click opens one. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BROWSERS, open, start, state } from '../browser.js';

const SINGLE = process.env.SERVENT_SINGLE;

/** The panel, with all its worlds done. @param {import('puppeteer-core').Page} page */
async function swept(page) {
  await page.evaluate(() => /** @type {any} */ (document.querySelector('.lab-head [data-tool="scenario"]')).click());
  await page.waitForSelector('dialog [data-tool="sweep"]');
  await page.evaluate(() => /** @type {any} */ (document.querySelector('dialog [data-tool="sweep"]')).click());
  await page.waitForFunction(() => {
    const bar = /** @type {HTMLProgressElement|null} */ (document.querySelector('dialog.sweep progress'));
    return bar && bar.value === bar.max;
  }, { timeout: 50_000 });
}

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('the worst of fifty seeds is found and opened, beside the page', async () => {
      const { page, complaints } = await open(started, '#1/unicast?m=single&p=lose-middle&t=0');
      await swept(page);
      const { ways, dots, worst } = await page.evaluate(() => ({
        ways: document.querySelectorAll('dialog.sweep section').length,
        dots: document.querySelectorAll('dialog.sweep section:first-child tr:first-child circle').length,
        worst: Number(/** @type {any} */ (document.querySelector('dialog.sweep td button')).textContent.match(/(\d+)$/)[1]),
      }));
      assert.deepEqual([ways, dots], [2, 50]);
      await page.click('dialog.sweep td button');
      await page.waitForFunction(() => !document.querySelector('dialog.sweep'));
      const seed = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.scenario.seed);
      assert.equal(Number(seed), worst);
      assert.equal((await state(page)).kind, 'scenario');
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('a worker comes to the same numbers as the page, and the queue is run by both policies', async () => {
      const { page, complaints } = await open(started, '#1/queue?m=single&p=cut-the-wire&t=0');
      await swept(page);
      const seen = await page.evaluate(async () => {
        const { counted } = await import(/** @type {any} */ ('#lab/sweep/count.js'));
        const core = await import(/** @type {any} */ ('#servent'));
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const first = Number(session.scenario.seed);
        const servers = session.scenario.servers.map((/** @type {any} */ s) => ({ ...s, queue: { ...s.queue, policy: 'adaptive' } }));
        const run = counted(core, 'queue', { ...session.scenario, servers, seed: first + 7 });
        let step = run.next();
        while (!step.done) step = run.next();
        const titles = [...document.querySelectorAll('dialog.sweep section:nth-child(2) tr[data-figure="served"] circle title')].map((n) => n.textContent);
        return { served: step.value.served, title: titles[7], sections: document.querySelectorAll('dialog.sweep section').length };
      });
      assert.equal(seen.sections, 2);
      assert.match(seen.title ?? '', new RegExp(`: ${seen.served}$`));
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('a world that cannot be run says why, and counts in no figure', async () => {
      const { page, complaints } = await open(started, '#1/unicast?m=single&p=lose-middle&t=0');
      const first = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { postMessage } = Worker.prototype;
        const first = Number(session.scenario.seed) || 1;
        // A scenario that the core refuses, for one of the seeds.
        Worker.prototype.postMessage = function send(/** @type {any} */ what, /** @type {any} */ ...rest) {
          const bad = what.scenario && Number(what.scenario.seed) === first + 3 ? { ...what, scenario: { ...what.scenario, nodes: [] } } : what;
          return postMessage.call(this, bad, ...rest);
        };
        return first;
      });
      await swept(page);
      const seen = await page.evaluate(() => ({
        dots: document.querySelectorAll('dialog.sweep section tr:first-child circle').length,
        said: [...document.querySelectorAll('.sweep-failed li')].map((n) => n.textContent ?? ''),
        state: document.querySelector('.sweep-state')?.textContent,
      }));
      assert.equal(seen.said.length, 2, 'one for each way');
      for (const words of seen.said) assert.match(words, new RegExp(`^seed ${first + 3}, .{20,}`));
      assert.equal(seen.dots, 98);
      assert.match(seen.state ?? '', /2 worlds failed/);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('the single file sweeps too', { skip: (!SINGLE || !existsSync(SINGLE)) && 'SERVENT_SINGLE names no file' }, async () => {
      const { page, complaints } = await open(started, '#1/unicast?m=single&p=lose-middle&t=0', { url: pathToFileURL(String(SINGLE)).href });
      await swept(page);
      assert.equal(await page.$$eval('dialog.sweep section:first-child tr:first-child circle', (n) => n.length), 50);
      assert.deepEqual(complaints, []);
      await page.close();
    });
  });
}
