/** A user who needs the system's own colours, more contrast or less motion gets them in every view. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { violations } from '../axe.js';
import { BROWSERS, faded, open, start, state } from '../browser.js';

const SCENES = ['queue?p=one-cut-wire&t=40000', 'routing?p=round-and-back&t=600', 'unicast?p=lose-middle&t=400', 'swarm?p=two-for-one&t=8000', 'meet?p=knock-early&t=1500', 'queue?les=cut-the-wire/2'];
/** What of a picture must be told apart. @type {Record<string, string[]>} */
const APART = { 'routing-pane': ['paper', 'ink', 'query', 'hit', 'lost'], 'unicast-pane': ['paper', 'ink', 'data', 'again', 'ack'], 'meet-pane': ['paper', 'ink', 'knock', 'answer', 'relay', 'mapped', 'lost'], 'swarm-pane': ['ink', 'held', 'missing', 'flight', 'seed'] };

/** Only what this browser's own protocol can ask for. @param {import('puppeteer-core').Page} page @param {Record<string, string>} wanted */
async function emulate(page, wanted) {
  const session = await page.createCDPSession();
  await session.send('Emulation.setEmulatedMedia', { features: Object.entries(wanted).map(([name, value]) => ({ name, value })) });
  await page.evaluate(() => { delete document.documentElement.dataset.theme; });
  await faded(page);
}

for (const name of BROWSERS) {
  describe(name, { skip: name !== 'chromium' && 'it cannot be asked for by a test' }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const scheme of ['light', 'dark']) {
      for (const [feature, value] of [['forced-colors', 'active'], ['prefers-contrast', 'more']]) {
        test(`every view with ${feature}: ${value}, ${scheme}`, async () => {
          for (const hash of SCENES) {
            const { page, complaints } = await open(started, `#1/${hash}`);
            await emulate(page, { [feature]: value, 'prefers-color-scheme': scheme });
            assert.deepEqual(await violations(page, { colours: true }), [], hash);
            const inks = await page.evaluate(async (apart) => {
              const { inks: of } = await import(/** @type {any} */ ('/js/theme.js'));
              return Object.entries(apart).flatMap(([pane, names]) => {
                const host = document.querySelector(pane);
                return host ? [Object.values(of(host, names).colours)] : [];
              });
            }, APART);
            for (const colours of inks) assert.equal(new Set(colours).size, colours.length, `${hash}: ${colours}`);
            assert.deepEqual(complaints, []);
            await page.close();
          }
        });
      }
    }

    test('with less motion nothing moves by itself, and what is shown is there at once', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire');
      await emulate(page, { 'prefers-reduced-motion': 'reduce' });
      assert.equal(await page.$eval('.button', (n) => parseFloat(getComputedStyle(n).transitionDuration)), 0);
      await page.evaluate(() => { location.hash = '#1/queue?les=cut-the-wire/2'; });
      await page.waitForSelector('.lesson-choice');
      await page.click('.lesson-choice');
      await page.click('[data-lesson="commit"]');
      await page.click('[data-lesson="next"]');
      await page.waitForSelector('.lesson-verdict');
      assert.equal((await state(page)).playing, false, 'it was not played');
      await page.close();
    });
  });
}
