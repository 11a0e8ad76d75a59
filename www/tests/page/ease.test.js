/** Playing slows while a fault strikes, unless that is switched off. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';

/** Plays over the first fault: whether it was slow there, and elsewhere. @param {import('puppeteer-core').Page} page */
const played = (page) => page.evaluate(async () => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const { at } = session.run.pins().find((/** @type {any} */ pin) => pin.kind === 'fault');
  const shown = () => document.querySelector('.speed output')?.hasAttribute('data-eased');
  session.clock.speed = 5;
  session.clock.seek(at - 6e6);
  session.clock.play();
  const slow = [];
  const end = performance.now() + 20_000;
  while (session.run.now < at + 8e6 && performance.now() < end && session.clock.playing) {
    await new Promise(requestAnimationFrame);
    slow.push([session.run.now - at, shown()]);
  }
  session.clock.pause();
  await new Promise(requestAnimationFrame);
  return { near: slow.some(([, on]) => on), far: slow.some(([off, on]) => on && (off < -1.5e6 || off > 4e6)), over: slow.length > 3, paused: shown() };
});

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('time passes slowly around a fault, and as set elsewhere', async () => {
      const { page, complaints } = await open(started, '#1/queue?m=single&p=cut-the-wire&t=0');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      assert.deepEqual(await played(page), { near: true, far: false, over: true, paused: false });
      await page.keyboard.press('?');
      await page.click('[data-ease]');
      await page.keyboard.press('Escape');
      await frame(page);
      assert.deepEqual(await played(page), { near: false, far: false, over: true, paused: false });
      assert.deepEqual(complaints, []);
      await page.close();
    });
  });
}
