/** The view of the queue at its limits: a line of thousands, the single file. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BROWSERS, open, start, state } from '../browser.js';

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('of five thousand in line only those in sight exist', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      const { cards, length } = await page.evaluate(async () => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const groups = ['active', 'parq', 'passive'].map((dialect, i) => ({ ...session.scenario.clients[0], name: dialect, dialect, count: 1700, first: i * 1e4, spacing: 3e4 }));
        session.openScenario({ ...session.scenario, clients: groups, faults: [] });
        session.clock.seek(55e6);
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        return { cards: document.querySelectorAll('.card').length, length: session.run.positions(1, 1).queue.length };
      });
      assert.equal(length, 5000);
      assert.ok(cards > 10 && cards < 80, `${cards} cards`);
      await page.evaluate(() => {
        const lane = /** @type {HTMLElement} */ (document.querySelector('.lane[data-lane="async"] .lane-scroll'));
        lane.scrollTop = lane.scrollHeight;
      });
      await page.waitForFunction(() => {
        const last = [...document.querySelectorAll('.lane[data-lane="async"] .place')].at(-1);
        return last?.textContent?.replace(/\D/g, '') === '5000';
      });
      const { lanes, wires, took } = await page.evaluate(() => {
        const { run } = /** @type {any} */ (document.querySelector('servent-lab')).session;
        const whole = run.positions(1, 5000).queue.cards;
        const begun = performance.now();
        for (let i = 0; i < 20; i += 1) run.source.lanes(run.server.id, 0, 0, 0, 10);
        return { lanes: run.lanes({ sync: 0, async: 0, grace: 0 }, 1).lanes, wires: whole.filter((/** @type {any} */ c) => c.present).length, took: (performance.now() - begun) / 20 };
      });
      assert.ok(wires > 1500, 'those who speak Active Queueing keep their wires, however far back');
      assert.deepEqual(lanes, { sync: wires, async: 5000 - wires, grace: 0, beyond: 0 });
      console.log(`# ${name}: the lanes of 5 000 in ${took.toFixed(2)} ms`);
      assert.equal(await page.$eval('.lane[data-lane="sync"] .count', (n) => Number((n.textContent ?? '').replace(/\D/g, ''))), wires);
      await page.close();
    });

    test('the queue of a site is that of the member that leads it, unless one is chosen', async () => {
      const { page, complaints } = await open(started, '#1/queue?p=leader-dies&t=0');
      const shown = (/** @type {number} */ us) => page.evaluate(async (at) => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        session.clock.pause();
        session.clock.seek(at);
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const select = /** @type {HTMLSelectElement} */ (document.querySelector('server-queue select'));
        return [select.value, session.run.server.id, document.querySelectorAll('server-queue .card').length > 0];
      }, us);
      assert.deepEqual(await shown(30e6), ['0', 0, true]);
      assert.deepEqual(await shown(100e6), ['1', 1, true]);
      assert.deepEqual(await shown(30e6), ['0', 0, true], 'and back');
      await page.select('server-queue select', '0');
      assert.deepEqual((await shown(100e6)).slice(0, 2), ['0', 0], 'who was chosen stays');
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('the single file works without a server', { skip: !(process.env.SERVENT_SINGLE && existsSync(process.env.SERVENT_SINGLE)) }, async () => {
      const url = pathToFileURL(String(process.env.SERVENT_SINGLE)).href;
      const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=60000', { url });
      assert.ok((await state(page)).index > 0);
      // Its style sheets stand in it, where scripts may not read them as they are.
      const drawn = await page.evaluate(async () => {
        const { drawing } = await import(/** @type {any} */ ('#lab/open/picture.js'));
        return drawing(document.querySelector('queue-pane'), '').text;
      });
      assert.match(drawn, /\.card/);
      assert.deepEqual(complaints, []);
      await page.close();
    });
  });
}
