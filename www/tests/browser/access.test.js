/** Every person can use it: axe finds nothing, the keyboard is enough, targets are large, motion is optional. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { violations } from '../axe.js';
import { BROWSERS, frame, open, press, start, state } from '../browser.js';

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const dark of [false, true]) {
      for (const width of [320, 1280]) {
        test(`axe finds nothing at ${width} px, ${dark ? 'dark' : 'light'}`, { skip: name !== 'chromium' && 'it judges the document and its styles, which are the same here' }, async () => {
          const only = { colours: dark };
          const { page } = await open(started, '#1/queue?p=rush-hour&t=60000', { width, dark });
          await frame(page);
          assert.deepEqual(await violations(page, only), [], 'queue');
          if (width < 700) {
            const folds = ['story', 'hint', 'time', 'side', 'menu'];
            for (const part of folds) await page.click(`[data-unfold="${part}"]`);
            assert.deepEqual(await violations(page, only), [], 'unfolded');
            for (const part of folds.reverse()) await page.click(`[data-unfold="${part}"]`);
          }
          for (const view of ['compare', 'events']) {
            await press(page, `[data-mode="${view}"]`);
            await frame(page);
            assert.deepEqual(await violations(page, only), [], view);
          }
          await press(page, '[data-view="routing"]');
          await page.waitForFunction(() => /** @type {any} */ (document.querySelector('routing-pane'))?.stages[0]?.run.flights.count);
          await frame(page);
          assert.deepEqual(await violations(page, only), [], 'routing');
          await page.focus('.routing-list');
          await page.keyboard.press('ArrowDown');
          await frame(page);
          assert.deepEqual(await violations(page, only), [], 'a node is selected');
          await press(page, '[data-view="unicast"]');
          await page.waitForFunction(() => /** @type {any} */ (document.querySelector('unicast-pane'))?.lanes[0]?.run.arrows.length);
          await frame(page);
          assert.deepEqual(await violations(page, only), [], 'unicast');
          await page.keyboard.press('ArrowDown');
          await page.focus('.arrow-list');
          await frame(page);
          assert.deepEqual(await violations(page, only), [], 'an arrow is selected');
          await page.keyboard.press('?');
          await page.waitForSelector('dialog[open]');
          assert.deepEqual(await violations(page, only), [], 'keys');
          await page.keyboard.press('Escape');
          await press(page, '[data-tool="scenario"]');
          await page.waitForSelector('dialog[open]');
          assert.deepEqual(await violations(page, only), [], 'scenario');
          await page.keyboard.press('Escape');
          await press(page, '[data-view="swarm"]');
          await page.waitForFunction(() => /** @type {any} */ (document.querySelector('swarm-pane'))?.lanes[0]?.run.stamp);
          await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.pause(); session.clock.seek(4e6); });
          await frame(page);
          assert.deepEqual(await violations(page, only), [], 'swarm');
          await page.evaluate(() => {
            const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
            const pane = /** @type {any} */ (document.querySelector('swarm-pane'));
            const [flow] = session.run.transfers;
            pane.cursor = { row: flow.taker, piece: flow.piece };
            pane.scroller.focus();
          });
          await page.keyboard.press('Enter');
          await page.waitForSelector('.funnel');
          await press(page, '.funnel summary');
          assert.deepEqual(await violations(page, only), [], 'a transfer is selected');
          // A phone shows either the inspector or what stands around the picture.
          if (width < 700) await page.click('[data-unfold="side"]');
          await page.click('[data-table]');
          await page.waitForSelector('.swarm-table button');
          assert.deepEqual(await violations(page, only), [], 'swarm as a table');
          await press(page, '[data-tool="scenario"]');
          await page.waitForSelector('dialog[open]');
          assert.deepEqual(await violations(page, only), [], 'scenario of a swarm');
          await page.close();
        });
      }
    }

    test('the keyboard alone plays, selects, breaks and goes back', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=20000');
      await frame(page);
      const reached = new Set();
      // Beyond the last part of the page the focus would leave it for the browser's own bars.
      for (let i = 0; i < 60 && !reached.has('slider'); i += 1) {
        await page.keyboard.press('Tab');
        reached.add(await page.evaluate(() => {
          const node = /** @type {HTMLElement} */ (document.activeElement);
          return node.closest('.wait-card') ? 'card' : node.closest('.slot-card') ? 'slot' : node.getAttribute('role') ?? node.dataset.do ?? node.dataset.tool ?? node.dataset.mode ?? node.tagName;
        }));
      }
      for (const part of ['card', 'slider', 'play', 'scenario', 'events']) assert.ok(reached.has(part), `Tab reaches ${part}: ${[...reached].join()}`);
      await page.focus('.wait-card .card-main');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await frame(page);
      assert.notEqual((await state(page)).selected, null, 'Enter selects');
      await page.keyboard.press('d');
      assert.equal((await state(page)).branches, 2, 'D cuts');
      await page.keyboard.press('u');
      assert.equal((await state(page)).branch, 0, 'U goes back');
      await page.keyboard.press('?');
      await page.waitForSelector('dialog[open] input[type="checkbox"]');
      await page.focus('dialog input[type="checkbox"]');
      await page.keyboard.press(' ');
      await page.keyboard.press('Escape');
      const index = (await state(page)).index;
      await page.keyboard.press('ArrowRight');
      assert.equal((await state(page)).index, index, 'single keys are off');
      await page.close();
    });

    test('a step says one sentence, in every view', async () => {
      for (const [view, story] of [['queue', 'rush-hour'], ['routing', 'round-and-back'], ['unicast', 'lose-middle'], ['swarm', 'two-for-one']]) {
        const { page } = await open(started, `#1/${view}?p=${story}&t=${view === 'queue' ? 60000 : 200}`);
        await page.keyboard.press('ArrowRight');
        await frame(page);
        const said = await page.$eval('[aria-live="polite"]', (n) => n.textContent ?? '');
        assert.match(said, /^\d.*: \S+ .+\.$/, view);
        assert.doesNotMatch(said, /undefined|null|\{|(queue|conn|fetch|world|message|app|routing|unicast|datagram|swarm|client)\.[a-z]/, view);
        await page.close();
      }
    });

    test('every target has 24 px', async () => {
      for (const [width, hash] of /** @type {const} */ ([[320, '#1/queue?p=rush-hour&t=60000'], [1280, '#1/queue?p=rush-hour&t=60000'], [320, '#1/unicast?p=lose-middle&t=100'], [1280, '#1/unicast?p=lose-middle&t=100']])) {
        const { page } = await open(started, hash, { width });
        await frame(page);
        const small = await page.$$eval('button, input, select, summary, [role="slider"]', (all) => all
          .filter((n) => n.checkVisibility()).map((n) => ({ n, r: n.getBoundingClientRect() }))
          .filter(({ r }) => r.width > 0 && (r.width < 23.9 || r.height < 23.9)).map(({ n, r }) => `${n.className || n.tagName} ${r.width}×${r.height}`));
        assert.deepEqual(small, []);
        await page.close();
      }
    });

    test('nothing is wider than a phone', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=60000', { width: 320, height: 640 });
      await frame(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 320);
      await page.close();
    });
  });
}
