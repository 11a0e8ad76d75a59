/** What is looked for stays in the picture; all else grows pale there, and how much was found is said. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';

/** A story of each view at a moment, what is looked for, and the canvases it is drawn on. @type {[string, string, number, string, string][]} */
const STORIES = [
  ['queue', 'rush-hour', 300, 'type:arrived', ''],
  ['routing', 'way-back', 0.4, 'type:hit', 'routing-pane canvas.messages, routing-pane canvas.network'],
  ['unicast', 'lose-middle', 0.3, 'type:lost', 'unicast-pane canvas'],
  ['swarm', 'deadlock', 30, 'node:c2', 'swarm-pane .swarm-room canvas'],
];

/** How much is drawn that differs from the paper. @param {import('puppeteer-core').Page} page @param {string} canvases */
const ink = (page, canvases) => page.evaluate((of) => {
  if (!of) return 0;
  const all = /** @type {HTMLCanvasElement[]} */ ([...document.querySelectorAll(of)]).filter((n) => n.checkVisibility());
  const { width, height } = all[0];
  const flat = new OffscreenCanvas(width, height);
  const ctx = /** @type {any} */ (flat.getContext('2d'));
  const body = getComputedStyle(all[0].parentElement ?? all[0]).getPropertyValue('--paper') || 'white';
  ctx.fillStyle = body;
  ctx.fillRect(0, 0, width, height);
  const layers = /** @type {HTMLCanvasElement[]} */ ([...all[0].parentElement?.querySelectorAll('canvas') ?? []]);
  for (const canvas of layers) ctx.drawImage(canvas, 0, 0, width, height);
  const { data } = ctx.getImageData(0, 0, width, height);
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) sum += 765 - data[i] - data[i + 1] - data[i + 2];
  return sum;
}, canvases);

/** What is drawn once the picture stands still: what fades in or grows is not yet what stays. @param {import('puppeteer-core').Page} page @param {string} canvases */
async function stillInk(page, canvases) {
  let drawn = await ink(page, canvases);
  for (let turn = 0; turn < 50; turn += 1) {
    await frame(page);
    const next = await ink(page, canvases);
    if (next === drawn) return drawn;
    drawn = next;
  }
  throw new Error('the picture does not stand still');
}

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const [view, story, at, query, canvases] of STORIES) {
      test(`${view}: what is not found is pale, and the count is said`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?m=single&p=${story}&t=${at * 1000}`);
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
        assert.equal(await page.$eval('find-bar', (n) => n.checkVisibility()), false);
        const before = await stillInk(page, canvases);
        const records = await page.evaluate(async (query) => {
          const { matcher } = await import(/** @type {any} */ ('#lab/search.js'));
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          session.find(query);
          const fits = matcher(query);
          return session.run.records(0, session.run.count, '').filter((/** @type {any} */ r) => fits(r, session.run)).length;
        }, query);
        assert.ok(records > 0, 'something is found');
        await page.waitForFunction((n) => document.querySelector('find-bar output')?.textContent?.startsWith(`${n.toLocaleString('en')} of `) && !/still/.test(document.querySelector('find-bar output')?.textContent ?? ''), {}, records);
        await frame(page);
        if (view === 'queue') {
          const [pale, all] = await page.$$eval('.card', (cards) => [cards.filter((c) => c.hasAttribute('data-pale')).length, cards.length]);
          assert.ok(pale < all && all > 3, `${pale} of ${all} are pale: every client arrived`);
          await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.find('nobody-at-all'));
          await page.waitForFunction(() => [...document.querySelectorAll('.card')].every((c) => c.hasAttribute('data-pale')));
        } else {
          const after = await stillInk(page, canvases);
          assert.ok(after < before * 0.97, `${after} of ${before} is drawn`);
        }
        await page.click('[data-find="end"]');
        await frame(page);
        assert.equal(await page.$eval('find-bar', (n) => n.checkVisibility()), false);
        assert.equal(await page.$$eval('[data-pale]', (n) => n.length), 0);
        const end = await stillInk(page, canvases);
        assert.ok(Math.abs(end - before) <= before * 0.01, `${end}, not ${before}, when all is shown again`);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }
  });
}
