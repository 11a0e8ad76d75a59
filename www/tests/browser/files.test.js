/** What a view exports opens in it again, packed or not, and comes to the same. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, open, start, state } from '../browser.js';

/** A story of each view. */
const STORIES = { queue: 'cut-the-wire', routing: 'route-expired', unicast: 'lose-middle', swarm: 'deadlock' };

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const [view, story] of Object.entries(STORIES)) {
      for (const packed of [false, true]) {
        test(`${view}: a file that was exported${packed ? ' and packed' : ''} opens where it is at home`, async () => {
          const { page, complaints } = await open(started, `#1/${view}?p=${story}&t=0`);
          await page.evaluate(async (/** @type {boolean} */ gzip) => {
            const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
            while (!session.run.raw.explore(200)) await new Promise(requestAnimationFrame);
            const plain = new Blob([session.run.raw.exportSqlog()]);
            const bytes = gzip ? await new Response(plain.stream().pipeThrough(new CompressionStream('gzip'))).blob() : plain;
            const data = new DataTransfer();
            data.items.add(new File([bytes], gzip ? 'again.sqlog.gz' : 'again.sqlog'));
            /** @type {any} */ (globalThis).before = session.run;
            dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
          }, packed);
          await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run !== /** @type {any} */ (globalThis).before);
          await page.waitForFunction(() => /verified 1\/1/.test(document.querySelector('.verdict')?.textContent ?? ''));
          const now = await state(page);
          assert.deepEqual([now.view, now.kind, now.verified.checked], [view, 'scenario', 1]);
          assert.deepEqual(complaints, []);
          await page.close();
        });
      }
    }
  });
}
