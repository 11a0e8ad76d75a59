/**
 * The stage first: at every size the picture has its share, Play can be hit, and
 * nothing lies over anything else; with a projector, in each language, and with a lesson.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';
import { hiddenWords, measure, overlaps } from '../layout.js';

/** Width and height of the screens that people sit before; 640 × 400 is a laptop at twice the size. @type {[number, number][]} */
const SIZES = [[320, 640], [375, 812], [640, 400], [768, 1024], [1024, 768], [1280, 800], [1920, 1080]];
/** @type {Record<string, string>} */
const STORIES = { queue: 'p=one-cut-wire&t=40000', routing: 'p=round-and-back&t=400', unicast: 'p=lose-middle&t=400', swarm: 'p=two-for-one&t=5000', meet: 'p=knock-early&t=1350' };
/** Of a laptop's height the picture has this share at least. */
const SHARE = 0.6;

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('at 1280 × 800 the picture has most of the height, in every view, at a first visit too', async () => {
      const wrong = [];
      for (const [view, story] of Object.entries(STORIES)) {
        const { page } = await open(started, `#1/${view}?${story}`);
        await page.waitForSelector('.hint');
        for (const visit of ['first visit', 'later']) {
          await frame(page);
          await frame(page);
          const { picture, beside, height } = await measure(page);
          const share = ((picture?.height ?? 0) + beside) / height;
          if (share < SHARE) wrong.push(`${view}, ${visit}: ${share.toFixed(3)}`);
          // A person who has read the hint has put it away.
          await page.evaluate(() => document.querySelector('.hint')?.remove());
        }
        await page.close();
      }
      assert.deepEqual(wrong, []);
    });

    for (const projector of [false, true]) {
      // One engine is enough for the languages that are no longer than German.
      for (const language of name === 'chromium' && !projector ? ['en', 'de', 'es', 'fr'] : ['en', 'de']) {
        test(`nothing covers anything${projector ? ' with a projector' : ''}, ${language}`, async () => {
          const wrong = [];
          for (const [view, story] of Object.entries(STORIES)) {
            const { page } = await open(started, `#1/${view}?${story}`);
            // Sentences are those of the language that the page began with.
            if (language !== 'en') {
              await page.evaluate((lang) => localStorage.setItem('language', lang), language);
              await page.reload();
              await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab'))?.session?.run && document.querySelector('.transport'));
            }
            if (projector) await page.evaluate(() => { document.documentElement.dataset.projector = ''; });
            for (const [width, height] of SIZES) {
              await page.setViewport({ width, height });
              await frame(page);
              const { parts, covered, wide, picture } = await measure(page);
              const all = [...overlaps(parts), ...covered, wide > 0 ? `${wide} px too wide` : '', picture && picture.height >= 80 ? '' : `the picture has ${Math.round(picture?.height ?? 0)} px`].filter(Boolean);
              wrong.push(...all.map((one) => `${view} at ${width} × ${height}: ${one}`));
            }
            await page.evaluate(() => localStorage.clear());
            await page.close();
          }
          assert.deepEqual(wrong, []);
        });
      }
    }

    test('what two pictures beside each other say can be read', async () => {
      const wrong = [];
      for (const story of ['unicast?p=lose-middle&t=400', 'unicast?p=fill-the-queue&t=600', 'unicast?p=two-controllers&t=5000', 'unicast?p=two-controllers&m=compare&t=5000', 'swarm?p=two-for-one&t=5000']) {
        const { page } = await open(started, `#1/${story}`);
        for (const [width, height] of [[1024, 768], [1280, 800], [1920, 1080]]) {
          await page.setViewport({ width, height });
          for (const projector of [false, true]) {
            await page.evaluate((on) => document.documentElement.toggleAttribute('data-projector', on), projector);
            await frame(page);
            const words = await hiddenWords(page);
            wrong.push(...words.map((one) => `${story} at ${width} × ${height}${projector ? ' with a projector' : ''}: ${one}`));
          }
        }
        await page.close();
      }
      assert.deepEqual(wrong, []);
    });

    test('a menu on a projector opens at its button', async () => {
      const { page } = await open(started, `#1/queue?${STORIES.queue}`);
      await page.evaluate(() => { document.documentElement.dataset.projector = ''; });
      await frame(page);
      await page.click('[data-tool="language"]');
      await page.waitForSelector('.menu');
      const [button, menu] = await page.$$eval('[data-tool="language"], .menu', (both) => both.map((n) => n.getBoundingClientRect()).map(({ right, bottom, top }) => ({ right, bottom, top })));
      assert.ok(Math.abs(menu.right - button.right) <= 1 && Math.abs(menu.top - button.bottom - 4) <= 1, JSON.stringify({ button, menu }));
      await page.close();
    });

    test('a lesson on a projector can be read and played', async () => {
      for (const [width, height] of [[1280, 800], [1024, 768]]) {
        const { page } = await open(started, '#1/queue?les=cut-the-wire/1', { width, height });
        await page.waitForSelector('lesson-panel:not([hidden])');
        await page.evaluate(() => { document.documentElement.dataset.projector = ''; });
        await frame(page);
        const { parts, covered } = await measure(page);
        assert.deepEqual([...overlaps(parts), ...covered], [], `${width} × ${height}`);
        const card = await page.$eval('.lane[data-lane="sync"] .card', (n) => {
          const [{ bottom }, room] = [n.getBoundingClientRect(), /** @type {Element} */ (n.closest('.lane')).getBoundingClientRect()];
          return bottom <= room.bottom;
        });
        assert.ok(card, `the first card is whole at ${width} × ${height}`);
        await page.close();
      }
    });
  });
}
