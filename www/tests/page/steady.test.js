/** While it plays, the page holds still: figures change, and nothing around them moves. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, open, start } from '../browser.js';

/** What a visitor sees beside the picture. */
const PARTS = 'servent-lab > *, .lab-head > *, .lab-view > div > *, .panes > :not([hidden]), .outcomes > div, .queue-title > *, .lanes > *, .tray, .unicast-bar > *, .unicast-heads, .end, .unicast-body, .swarm-heads, .swarm-body, .routing-bar > *, .routing-body, .routing-figures > div, .transport > *, .transport .keys > *, .track, .pins, lab-inspector > .event, lab-inspector > .who';
/** @type {[string, string, number, number][]} */
const STORIES = [['queue', 'rush-hour', 60, 20], ['routing', 'way-back', 0.1, 0.05], ['unicast', 'lose-middle', 0.02, 0.05], ['swarm', 'two-for-one', 1, 1]];
/** It plays so long, in milliseconds. */
const PLAYED_MS = 2500;

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const [view, story, at, speed] of STORIES) {
      test(`${view}: the frame's parts stay where they are`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?m=single&p=${story}&t=${at * 1000}`);
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
        const { moved, from, to } = await page.evaluate(async (parts, ms, speed) => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          const boxes = () => new Map([...document.querySelectorAll(parts)].filter((n) => n.checkVisibility()).map((n) => {
            const { x, y, width, height } = n.getBoundingClientRect();
            return [n, [x, y, width, height]];
          }));
          session.clock.speed = speed;
          const from = session.run.index;
          session.clock.play();
          // The button says "pause" now, and the words beside the picture are those of a run that plays.
          await new Promise((done) => setTimeout(done, 300));
          const first = boxes();
          const moved = new Set();
          for (const end = performance.now() + ms; performance.now() < end;) {
            await new Promise((done) => setTimeout(done, 80));
            for (const [n, box] of boxes()) {
              const was = first.get(n);
              if (!was || was.some((v, i) => Math.abs(v - box[i]) > 1)) moved.add(`${n.localName}.${n.className} ${n.textContent?.slice(0, 40)}: ${was?.map(Math.round)} → ${box.map(Math.round)}`);
            }
          }
          return { moved: [...moved], from, to: session.run.index };
        }, PARTS, PLAYED_MS, speed);
        assert.ok(to > from, 'it played');
        assert.deepEqual(moved, []);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }
  });
}
