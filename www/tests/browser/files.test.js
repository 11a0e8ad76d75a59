/** What a view exports opens in it again, packed or not, and comes to the same; tables and pictures show what is seen. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start, state } from '../browser.js';

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

    for (const [view, story] of Object.entries(STORIES)) {
      test(`${view}: the picture is saved as it is seen`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?p=${story}&t=800`, { dark: view === 'routing' });
        await frame(page);
        const found = await page.evaluate(async () => {
          const { drawing, painted } = await import(/** @type {any} */ ('#lab/open/picture.js'));
          const part = /** @type {Element} */ (document.querySelector('.panes > :not([hidden])'));
          const drawn = drawing(part, 'a story');
          const blob = await painted(drawn);
          const bitmap = await createImageBitmap(blob);
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
          const context = /** @type {any} */ (canvas.getContext('2d'));
          context.drawImage(bitmap, 0, 0);
          const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
          const colours = new Set();
          for (let i = 0; i < data.length; i += 4 * 97) colours.add(data.slice(i, i + 4).join());
          const { width, height } = part.getBoundingClientRect();
          return { colours: colours.size, size: [bitmap.width, bitmap.height], wanted: [Math.round(2 * width), Math.round(2 * height)] };
        });
        assert.deepEqual(found.size, found.wanted);
        assert.ok(found.colours > 12, `${found.colours} colours`);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    test('the events are saved as a table, as far as they are shown', async () => {
      const { page } = await open(started, '#1/queue?p=impatient&t=0');
      const text = await page.evaluate(async () => {
        const { table } = await import(/** @type {any} */ ('#lab/open/export.js'));
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        while (!session.run.raw.explore(200)) await new Promise(requestAnimationFrame);
        const records = session.run.records.bind(session.run);
        session.run.records = (/** @type {any[]} */ ...args) => records(...args).map((/** @type {any} */ record) => ({ ...record, node_name: '=1+1' }));
        return table(session, session.run, 'AQ-5');
      });
      const [head, ...rows] = text.split('\r\n');
      assert.equal(head, '"number","seconds","node","kind","requirement","event"');
      assert.ok(rows.length >= 1);
      for (const row of rows) assert.match(row, /^"\d+","\d+\.\d{6}","'=1\+1","queue [^"]+","AQ-5",".+"$/, 'no name is a formula');
      await page.close();
    });

    test('a link opens a trace that lies beside the page, and says when there is none', async () => {
      const { page } = await open(started, '#1/queue?p=cut-the-wire&t=0');
      await page.evaluate(async () => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        while (!session.run.raw.explore(200)) await new Promise(requestAnimationFrame);
        const bytes = session.run.raw.exportSqlog();
        const fetched = globalThis.fetch;
        globalThis.fetch = async (address, how) => (address === 'runs/monday.sqlog' ? new Response(bytes) : fetched(address, how));
        /** @type {any} */ (globalThis).before = session.run;
        location.hash = '#trace=runs/monday.sqlog';
      });
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run !== /** @type {any} */ (globalThis).before);
      await page.waitForFunction(() => /verified 1\/1/.test(document.querySelector('.verdict')?.textContent ?? ''));
      await page.evaluate(() => { location.hash = '#trace=runs/tuesday.sqlog'; });
      await page.waitForSelector('.notice.bad');
      assert.match(await page.$eval('.notice.bad', (n) => n.textContent ?? ''), /no trace at runs\/tuesday\.sqlog: the server answers 404/);
      await page.close();
    });
  });
}
