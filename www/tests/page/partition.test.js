/** The overlay is parted by a key or by a line, as one act that is taken back as one, and mended again. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';

/** Links that are cut, what was done, and branches. @param {import('puppeteer-core').Page} page */
const world = (page) => page.evaluate(() => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  session.run.refreshLinks();
  return { cut: [...session.run.links.up].filter((up) => !up).length, done: session.actions.log.length, acts: new Set(session.actions.log.map((/** @type {any} */ fault) => fault.act)).size, branches: session.run.branches().length };
});

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('a node parts the network by a key; one step takes all of it back, another does it again, and a key mends it', async () => {
      const { page, complaints } = await open(started, '#1/routing?m=single&p=way-back&t=100');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('p');
      await frame(page);
      const parted = await world(page);
      assert.ok(parted.cut > 1 && parted.done === parted.cut, JSON.stringify(parted));
      assert.deepEqual([parted.acts, parted.branches], [1, 2]);
      const halves = await page.evaluate(() => {
        const { run } = /** @type {any} */ (document.querySelector('servent-lab')).session;
        const seen = new Set([run.home.id]);
        for (const at of seen) for (let i = run.near.from[at]; i < run.near.from[at + 1]; i += 1) if (run.links.up[run.near.link[i]]) seen.add(run.near.to[i]);
        return [seen.size, run.nodes.length];
      });
      assert.ok(halves[0] < halves[1], `no node is cut off: ${halves}`);
      await page.keyboard.down('Control');
      await page.keyboard.press('z');
      await page.keyboard.up('Control');
      await frame(page);
      assert.deepEqual(await world(page), { cut: 0, done: 0, acts: 0, branches: 1 });
      await page.keyboard.down('Control');
      await page.keyboard.press('y');
      await page.keyboard.up('Control');
      await frame(page);
      assert.equal((await world(page)).cut, parted.cut);
      await page.keyboard.press('m');
      await frame(page);
      const mended = await world(page);
      assert.deepEqual([mended.cut, mended.acts], [0, 2]);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('a line cuts what it crosses', async () => {
      const { page, complaints } = await open(started, '#1/routing?m=single&p=way-back&t=100');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      await page.click('[data-draw="line"]');
      const box = await page.$eval('.routing-stage', (n) => n.getBoundingClientRect().toJSON());
      const x = box.x + box.width / 2;
      await page.mouse.move(x, box.y + 4);
      await page.mouse.down();
      await page.mouse.move(x, box.y + box.height / 2);
      await page.mouse.move(x, box.y + box.height - 4);
      await page.mouse.up();
      // A busy Firefox hears of the mouse later than of this test.
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.actions.log.length > 0);
      await frame(page);
      const { cut, done, acts } = await world(page);
      assert.ok(cut >= 1 && done === cut, `${cut} links are cut`);
      assert.equal(acts, 1);
      assert.equal(await page.$eval('[data-draw="line"]', (n) => n.getAttribute('aria-pressed')), 'false');
      assert.deepEqual(complaints, []);
      await page.close();
    });
  });
}
