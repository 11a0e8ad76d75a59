/**
 * A person who has never been here: what this is can be read at once, something
 * happens that they can name before a quarter of a minute is over, and it takes
 * two touches to break something. On a laptop and on a phone. `stranger.js` films
 * the same minute.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start, state } from '../browser.js';
import { SIZES, breakIt, readable, select } from '../stranger.js';

/** Until something has happened, as the story is played, in seconds. */
const HAPPENED = 15;
/** The page may be slow on a machine that is busy; waiting ends after that, in milliseconds. */
const PATIENCE = 30_000;

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const size of SIZES) {
      test(`the first minute at ${size.width} px`, async () => {
        const { page, complaints } = await open(started, '', size);
        // What this is, and what to do.
        assert.match(await readable(page, '.hint > span'), /look for a file by asking their neighbours.*select a servent and break something/);
        const cut = await page.$eval('.hint > span', (n) => n.scrollWidth > n.clientWidth + 1 || n.scrollHeight > n.clientHeight + 1);
        assert.ok(!cut, 'the sentence is there to its end');
        assert.ok((await state(page)).playing || await page.$('.notice'), 'it moves by itself');

        // Something happens, and a sentence names it where nothing is hidden by it.
        await page.waitForSelector('.notice', { timeout: PATIENCE });
        await frame(page);
        assert.match(await readable(page, '.notice'), /^F has the file and answers\. Press play/);
        const { now, playing } = await state(page);
        const speed = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.speed);
        assert.ok(!playing && now / 1e6 / speed < HAPPENED, `after ${now / 1e6 / speed} s of playing`);
        const hidden = await page.evaluate(() => {
          const [stage] = /** @type {any} */ (document.querySelector('routing-pane')).stages;
          const { left, top } = stage.node.getBoundingClientRect();
          const { x, y } = stage.where({ kind: 'node', i: 5 });
          return document.elementFromPoint(left + x, top + y)?.closest('.notice') !== null;
        });
        assert.ok(!hidden, 'the servent that answers can be seen');

        // Two touches break something, and the page says what.
        await select(page);
        await breakIt(page);
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.actions.faults().length === 1, { timeout: PATIENCE });
        assert.equal((await state(page)).branches, 2);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }
  });
}
