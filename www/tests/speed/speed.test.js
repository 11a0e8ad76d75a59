/** How fast it feels: seeks, the clock after a pause, the first picture. Run alone: what else the machine does would count. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, firstPicture, open, start } from '../browser.js';

const SEEK_MS = 50;
/** Of a machine that sorts as fast as `SORT_MS` says; `cargo xtask bench page` asks for 700 ms of a quiet one. */
const FIRST_PICTURE_MS = 1800;
/** How long the sort of `slowness` takes where the limit above was set. */
const SORT_MS = 28;

/**
 * How many times as long as on the machine of the limits the processor takes now: without it a limit in
 * milliseconds would judge the machine.
 * @param {import('puppeteer-core').Page} page
 */
const slowness = async (page) => {
  const took = await page.evaluate(() => {
    let best = Infinity;
    for (let tries = 0; tries < 5; tries += 1) {
      let draw = 7;
      const words = Array.from({ length: 60_000 }, () => {
        draw = (draw * 1103515245 + 12345) % 2147483648;
        return draw.toString(36);
      });
      const begun = performance.now();
      words.sort();
      best = Math.min(best, performance.now() - begun);
    }
    return best;
  });
  return Math.max(1, took / SORT_MS);
};

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('a seek among 2 000 clients takes at most 50 ms in 95 of 100 cases', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      const p95 = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { scenario } = session;
        const group = { ...scenario.clients[0], name: 'many', count: 2000, spacing: 200_000, first: 0 };
        const run = session.view.fromScenario({ ...scenario, clients: [group], faults: [] });
        const { horizon } = run;
        for (let tries = 0; tries < 1000 && !run.explore(50); tries += 1);
        const took = /** @type {number[]} */ ([]);
        let draw = 7;
        for (let i = 0; i < 100; i += 1) {
          draw = (draw * 1103515245 + 12345) % 2147483648;
          const begun = performance.now();
          run.raw.seek((draw / 2147483648) * horizon);
          took.push(performance.now() - begun);
        }
        run.raw.free();
        return took.sort((a, b) => a - b)[94];
      });
      console.log(`# ${name}: seek p95 ${p95.toFixed(1)} ms at 2 000 clients`);
      assert.ok(p95 <= SEEK_MS, `${p95} ms`);
      await page.close();
    });

    test('a pause between frames never makes the clock jump', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      const jumped = await page.evaluate(async () => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        session.clock.play();
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const before = session.run.now;
        const end = performance.now() + 900;
        while (performance.now() < end);
        await new Promise((done) => requestAnimationFrame(done));
        session.clock.pause();
        return (session.run.now - before) / 1e6 / session.clock.speed;
      });
      assert.ok(jumped < 0.5, `${jumped} s of wall time were caught up with`);
      await page.close();
    });

    test('the first picture stands soon after navigation', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      const slower = await slowness(page);
      await page.close();
      const limit = FIRST_PICTURE_MS * slower;
      const took = /** @type {number[]} */ ([]);
      // What else the machine does only ever adds to it: the best of several is the page's own.
      const best = () => Math.min(...took);
      while (took.length < 5 || (took.length < 12 && best() > limit)) took.push(await firstPicture(started));
      console.log(`# ${name}: first picture after ${best().toFixed(0)} ms, of ${took.map((ms) => ms.toFixed(0)).join(', ')}, on a machine ${slower.toFixed(2)} times as slow`);
      if (name === 'chromium') assert.ok(best() <= limit, `${best()} ms of ${limit} ms`);
    });
  });
}
