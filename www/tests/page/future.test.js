/** What lies ahead can be hidden: then nothing on the page knows more than the clock. And the first story of each view is short, and ends on its point. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start, state } from '../browser.js';

/** @param {import('puppeteer-core').Page} page */
const explored = (page) => page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.runs().every((/** @type {any} */ run) => run.explored));

/** Seconds the first story of a view takes at the pace of the view, as its own clock goes; and what stands in the line of totals then. @param {import('puppeteer-core').Page} page */
const played = (page) => page.evaluate(async () => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const { preset, view } = session;
  session.clock.pause();
  session.clock.seek(0);
  let seconds = 0;
  while (session.run.now < session.clock.end && seconds < 60) {
    const us = 0.1e6 * session.clock.speed;
    // The pace may depend on what is in the picture.
    session.clock.seek(Math.min(session.clock.end, view.ahead?.(session, us) ?? session.run.now + us));
    await new Promise((done) => requestAnimationFrame(done));
    seconds += 0.1;
  }
  await new Promise((done) => setTimeout(done, 400));
  const rows = [...document.querySelectorAll('.outcomes')].filter((n) => n.checkVisibility()).map((n) => n.textContent);
  return { preset, first: view.presets()[0].id, seconds, rows };
});

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('one key hides what lies ahead: flags, counts, rows; and shows it again', async () => {
      const { page } = await open(started, '#1/queue?p=cut-the-wire&t=16000');
      await explored(page);
      const pins = () => page.$$eval('.pin', (all) => all.map((n) => Number(/** @type {HTMLElement} */ (n).dataset.at)));
      const whole = await pins();
      assert.ok(whole.length >= 2);
      await page.keyboard.press('h');
      await frame(page);
      const { now, end, index } = await state(page);
      const seen = await pins();
      assert.ok(seen.length >= 1 && seen.length < whole.length && seen.every((at) => at <= now / end), `${seen} of ${whole}`);
      assert.equal(await page.$eval('.readout.event', (n) => n.textContent), `event ${index}`);
      await page.keyboard.press('e');
      await page.waitForSelector('.events tr[data-seq]');
      await frame(page);
      assert.equal(await page.$eval('.table-tools .shown', (n) => n.textContent), `${index} events`);
      assert.equal(await page.$('.events tr.future'), null);
      await page.keyboard.press('h');
      await frame(page);
      assert.ok(await page.$('.events tr.future'));
      assert.deepEqual(await pins(), whole);
      await page.close();
    });

    test('the ladder is empty below the present while the future is hidden', async () => {
      const { page } = await open(started, '#1/unicast?p=lose-middle&m=single&t=150');
      await explored(page);
      const below = () => page.evaluate(() => {
        const pane = /** @type {any} */ (document.querySelector('unicast-pane'));
        const { canvas, scroller, axis, session, lanes } = pane;
        const scale = canvas.width / scroller.clientWidth;
        const from = (axis.of(session.run.now) - scroller.scrollTop + 14) * scale;
        const { data } = canvas.getContext('2d').getImageData(lanes[0].x * scale, from, lanes[0].width * scale, canvas.height - from);
        return data.filter((/** @type {number} */ _, /** @type {number} */ i) => i % 4 === 3 && data[i] > 0).length;
      });
      await frame(page);
      assert.ok(await below() > 1000, 'it is drawn ahead');
      await page.keyboard.press('h');
      await frame(page);
      assert.equal(await below(), 0);
      // The profile is shared, and remembers.
      await page.keyboard.press('h');
      await page.close();
    });

    test('the curve of a swarm ends at the present while the future is hidden', async () => {
      const { page } = await open(started, '#1/swarm?p=free-piece&t=3000');
      await explored(page);
      const inked = () => page.$eval('.chart canvas', (n) => {
        const canvas = /** @type {HTMLCanvasElement} */ (n);
        const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')).getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((_, i) => i % 4 === 3 && data[i] > 0).length;
      });
      // The curve is made a moment after the story is known.
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.progress.done.length > 100);
      await frame(page);
      const whole = await inked();
      await page.keyboard.press('h');
      await frame(page);
      assert.ok(await inked() < whole);
      await page.keyboard.press('h');
      await page.close();
    });

    for (const [view, point] of /** @type {[string, RegExp][]} */ ([['queue', /got a slot6.*place lost1/], ['routing', /found1 of 1/], ['unicast', /delivered9 of 9/], ['swarm', /served3 of 3/]])) {
      test(`${view}: the first story is over in a quarter of a minute, and ends on its point`, async () => {
        const { page, complaints } = await open(started);
        if (view !== 'routing') await page.click(`[data-view="${view}"]`);
        await page.waitForFunction((/** @type {string} */ id) => /** @type {any} */ (document.querySelector('servent-lab')).session.view.id === id, {}, view);
        await explored(page);
        // For a person who is here for the first time the opening story stops where the file is found.
        if (view === 'routing') {
          await page.waitForFunction(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); return !session.clock.playing && session.run.index > 0; });
          assert.match(await page.$eval('.notice', (n) => n.textContent ?? ''), /has the file and answers/);
          await page.click('[data-do="play"]');
        }
        const { preset, first, seconds, rows } = await played(page);
        assert.equal(preset, first);
        assert.ok(seconds > 5 && seconds < 18, `${preset} takes ${seconds} s`);
        assert.match(rows[0], point);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    test('the story of the ledger shows it as a sum that comes out', async () => {
      const { page } = await open(started);
      await page.click('[data-view="swarm"]');
      await page.waitForSelector('lab-inspector .facts dd');
      await explored(page);
      await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.pause(); session.clock.seek(4e6); });
      await frame(page);
      const words = await page.$$eval('lab-inspector .facts dd', (all) => all.map((n) => n.textContent ?? ''));
      const sum = words.map((w) => /free (\d+)(?: \+ granted (\d+))? \+ earned (\d+) .*− taken (\d+) = (-?\d+)/.exec(w)).find(Boolean);
      assert.ok(sum, words.join(' | '));
      const [free, granted, earned, taken, left] = sum.slice(1).map((n) => Number(n ?? 0));
      assert.equal(free + granted + earned - taken, left);
      await page.close();
    });
  });
}
