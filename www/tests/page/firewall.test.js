/** A node is put behind a firewall by a key: no node gets in, pushes bring it out, and it is seen, said and taken back. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, copiedLink, frame, open, start, state } from '../browser.js';

/** The overlay as the page has it, and what users of it were told by now. @param {import('puppeteer-core').Page} page */
const world = (page) => page.evaluate(() => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const { run } = session;
  run.refreshLinks();
  const told = run.records(0, run.index, '').map((/** @type {any} */ r) => r.event.app && [r.event.app.what, r.node]).filter(Boolean);
  return { closed: [...run.closed].flatMap((on, i) => (on ? [i] : [])), told };
});

/** Selects a node and presses the key. @param {import('puppeteer-core').Page} page @param {number} node */
async function wall(page, node) {
  await page.evaluate((i) => {
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    session.select({ node: i, ticket: null, name: session.run.name(i), lane: 0 });
  }, node);
  await page.keyboard.press('w');
  await frame(page);
}

/** @param {import('puppeteer-core').Page} page @param {number} us */
async function seek(page, us) {
  await page.evaluate((to) => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(to), us);
  await frame(page);
}

/** So many points around a node have the colour of a wall. @param {import('puppeteer-core').Page} page @param {number} node */
const bricks = (page, node) => page.evaluate((i) => {
  const [{ places: { px, py, radius }, scale, network }] = /** @type {any} */ (document.querySelector('routing-pane')).stages;
  const r = Math.max(radius, 3.5) * 1.95;
  return [[r, 0], [-r, 0], [0, r], [0, -r]].map(([x, y]) => [...network.ctx.getImageData(Math.round((px[i] + x) * scale), Math.round((py[i] + y) * scale), 1, 1).data].join());
}, node);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('a node that wants a file from behind a firewall must push, and between two of them none gets through', async () => {
      // A asks, and F on the other side of the ring has it; a moment before the question.
      const { page, complaints } = await open(started, '#1/routing?m=single&p=round-and-back&t=20');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      const open0 = await bricks(page, 5);
      await wall(page, 5);
      assert.match(await page.$eval('.notice', (n) => n.textContent ?? ''), /firewall closes around F.*can still connect to others/);
      const seen = await world(page);
      assert.deepEqual(seen.closed, [5]);
      await page.waitForFunction(() => /F, shares files, behind a firewall/.test(document.querySelector('.routing-list')?.textContent ?? ''));
      const closed0 = await bricks(page, 5);
      assert.ok(closed0.every((colour, i) => colour !== open0[i]), `${closed0}`);
      await page.waitForFunction(() => /no node can connect to it/.test(document.querySelector('lab-inspector')?.textContent ?? ''));

      await seek(page, 1_500_000);
      assert.deepEqual((await world(page)).told.map(([what, node]) => `${what} ${node}`), ['searched 0', 'answered 5', 'found 0', 'asked 0', 'obeyed 5']);

      // Another firewall, and the node that asks lets no other in either.
      await seek(page, 40_000);
      await wall(page, 0);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        run.learn(true);
        session.clock.seek(run.refusals[0].at + 1000);
      });
      await frame(page);
      const { told } = await world(page);
      assert.deepEqual(told.at(-1), ['refused', 5]);
      const refused = await page.$$eval('.routing-refused', (all) => all.filter((n) => !n.hidden).map((n) => n.getBoundingClientRect().width + n.getBoundingClientRect().height));
      assert.ok(refused.length === 1 && refused[0] > 40, `${refused}`);
      assert.deepEqual(complaints.filter((one) => !one.includes('getImageData')), []);
      assert.ok((await page.$$eval('.routing-word', (all) => all.filter((n) => !n.hidden).map((n) => n.textContent))).includes('no connection gets in'));
      await page.close();
    });

    test('it is opened again, taken back, and in the link', async () => {
      const { page } = await open(started, '#1/routing?m=single&p=round-and-back&t=20');
      await wall(page, 5);
      const hash = await copiedLink(page);
      await page.keyboard.press('w');
      await frame(page);
      assert.deepEqual((await world(page)).closed, [], 'the key opens it');
      assert.equal((await state(page)).faults, 2);
      for (const closed of [[5], []]) {
        await page.keyboard.down('Control');
        await page.keyboard.press('z');
        await page.keyboard.up('Control');
        await frame(page);
        assert.deepEqual((await world(page)).closed, closed);
      }
      await page.close();
      const { page: again } = await open(started, hash);
      assert.deepEqual((await world(again)).closed, [5]);
      await again.click('.transport .done');
      await again.waitForSelector('.done-list li');
      assert.match(await again.$eval('.done-what', (n) => n.textContent ?? ''), /firewall/);
      await again.close();
    });
  });
}
