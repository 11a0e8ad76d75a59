/** One line of totals in every view: what it says is what the records add up to, at every moment. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';

/** The line, by its keys, on each side. @param {import('puppeteer-core').Page} page */
const lines = (page) => page.$$eval('.outcomes', (all) => all.filter((n) => n.checkVisibility()).map((n) => Object.fromEntries([...n.children].map((row) => [/** @type {HTMLElement} */ (row).dataset.outcome, row.lastElementChild?.textContent ?? '']))));

/** Events up to the cursor that are of one kind, on each side. @param {import('puppeteer-core').Page} page @param {string} area @param {string} what */
const counted = (page, area, what) => page.evaluate((area, what) => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  return session.runs().map((/** @type {any} */ run) => run.records(0, run.index, '').filter((/** @type {any} */ r) => r.event[area]?.what === what).length);
}, area, what);

/** @type {[string, string, number[], string, string, (line: Record<string, string>) => number][]} */
const VIEWS = [
  ['queue', 'aq-vs-parq', [30, 300, 900], 'queue', 'started', (line) => Number(line.served)],
  ['routing', 'way-back', [1, 3, 7], 'message', 'sent', (line) => Number(line.messages)],
  ['unicast', 'lose-middle', [0.12, 0.4, 3], 'unicast', 'delivered', (line) => parseInt(line.delivered, 10)],
  ['swarm', 'two-for-one', [1, 4, 9], 'swarm', 'finished', (line) => parseInt(line.served, 10)],
];

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const [view, story, moments, area, what, told] of VIEWS) {
      test(`${view}: each side has its line, and it says what has happened so far`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?m=compare&p=${story}&t=0`);
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.runs().every((/** @type {any} */ run) => run.explored));
        for (const at of moments) {
          await page.evaluate((us) => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(us), at * 1e6);
          await frame(page);
          await new Promise((done) => setTimeout(done, 400));
          const said = await lines(page);
          assert.equal(said.length, 2);
          assert.deepEqual(said.map(told), await counted(page, area, what), `${story} at ${at} s: ${JSON.stringify(said)}`);
          for (const line of said) for (const words of Object.values(line)) assert.doesNotMatch(words, /undefined|NaN|null|Infinity/);
        }
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    test('all of it can be read: where one line has no room for it there are several', async () => {
      for (const [view, story] of VIEWS) {
        for (const [width, height, mode] of /** @type {[number, number, string][]} */ ([[320, 568, 'single'], [1280, 800, 'compare'], [1920, 1080, 'compare']])) {
          for (const lang of ['en', 'de']) {
            const { page } = await open(started, `#1/${view}?m=${mode}&p=${story}&t=3000&lang=${lang}`, { width, height });
            await frame(page);
            const cut = await page.$$eval('.outcomes', (all) => all.filter((n) => n.checkVisibility()).flatMap((n) => {
              const { left, right, top, bottom } = n.getBoundingClientRect();
              return [...n.querySelectorAll('dd')].filter((one) => one.textContent && one.checkVisibility()).map((one) => [one.textContent, one.getBoundingClientRect()])
                .filter(([, box]) => box.left < left - 1 || box.right > right + 1 || box.top < top - 1 || box.bottom > bottom + 1).map(([words]) => words).concat(n.scrollWidth > n.clientWidth + 1 ? ['wider than its place'] : [], right > innerWidth ? ['beyond the screen'] : []);
            }));
            assert.deepEqual(cut, [], `${view} at ${width}, ${lang}`);
            await page.close();
          }
        }
      }
    });

    test('it moves while the clock does, and stands where it stops', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&m=single&t=60000');
      const [first] = await lines(page);
      await page.evaluate(() => { Object.assign(/** @type {any} */ (document.querySelector('servent-lab')).session.clock, { speed: 300 }); });
      await page.click('[data-do="play"]');
      await page.waitForFunction((was) => document.querySelector('.outcomes [data-outcome="served"] dd')?.textContent !== was, {}, first.served);
      assert.ok(await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.playing));
      await page.click('[data-do="play"]');
      await frame(page);
      const [last] = await lines(page);
      assert.deepEqual([Number(last.served)], await counted(page, 'queue', 'started'));
      await page.close();
    });

    test('active queueing loses the place of a cut wire, and the other line says so', async () => {
      const { page } = await open(started, '#1/queue?m=compare&p=aq-vs-parq&t=0');
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(60e6));
      await frame(page);
      await new Promise((done) => setTimeout(done, 300));
      assert.deepEqual((await lines(page)).map((line) => line.lost), ['1', '0']);
      assert.match(await page.$eval('.outcomes [data-outcome="lost"]', (n) => n.textContent ?? ''), /^place lost1$/);
      // What just happened says on which side.
      assert.match(await page.$eval('lab-inspector .sentence time', (n) => n.textContent ?? ''), / · All speak Active Queueing$/);
      await page.close();
    });
  });
}
