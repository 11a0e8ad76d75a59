/** The room's three screens in every state, on phones and walls: nothing covers anything, nothing is wider than its window, axe finds nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { violations } from '../axe.js';
import { BROWSERS, faded, frame, start } from '../browser.js';
import { ROOM, STATES, put, screen } from '../classroom.js';
import { crowded } from '../layout.js';

/** Width and height of the windows that people have before them. @type {[number, number][]} */
const SIZES = [[320, 640], [375, 812], [768, 1024], [1024, 768], [1280, 800], [1920, 1080]];
/** From this width on the room's screen hangs on a wall, where nothing scrolls. */
const WALL = 1024;
const SCREENS = /** @type {('host'|'room'|'part')[]} */ (Object.keys(STATES));

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    before(async () => { started = await start(name, ROOM); });
    after(() => started.close());

    for (const which of SCREENS) {
      for (const language of ['en', 'de']) {
        test(`${which}: nothing covers anything, ${language}`, async () => {
          const page = await screen(started, which, { language });
          const wrong = [];
          for (const [state, said] of Object.entries(STATES[which])) {
            await put(page, which, said);
            for (const projector of which === 'room' ? [false, true] : [false]) {
              await page.evaluate((on) => document.documentElement.toggleAttribute('data-projector', on), projector);
              for (const [width, height] of SIZES.filter(([across]) => !projector || across >= WALL)) {
                await page.setViewport({ width, height });
                await frame(page);
                const found = await crowded(page, `${which}-screen`, { whole: which === 'room' && width >= WALL });
                wrong.push(...found.map((one) => `${state} at ${width} × ${height}${projector ? ' with a projector' : ''}: ${one}`));
              }
            }
          }
          await page.close();
          assert.deepEqual(wrong, []);
        });
      }

      test(`${which}: axe finds nothing`, { skip: name !== 'chromium' && 'it judges the document and its styles, which are the same here' }, async () => {
        const page = await screen(started, which);
        const wrong = [];
        for (const [state, said] of Object.entries(STATES[which])) {
          await put(page, which, said);
          for (const [width, height, theme] of /** @type {const} */ ([[320, 640, 'light'], [1280, 800, 'dark']])) {
            await page.setViewport({ width, height });
            await page.evaluate((scheme) => { document.documentElement.dataset.theme = scheme; }, theme);
            await faded(page);
            wrong.push(...(await violations(page)).map((one) => `${state} at ${width}, ${theme}: ${one}`));
          }
        }
        await page.close();
        assert.deepEqual(wrong, []);
      });
    }

    test('part: at the door, and while the network is tried', async () => {
      for (const about of [{ code: true }, { check: true }]) {
        for (const language of ['en', 'de']) {
          const page = await screen(started, 'part', { language, about });
          await page.waitForSelector('code' in about ? '.part-coding:not([hidden])' : '.part-check');
          const wrong = name === 'chromium' ? await violations(page) : [];
          for (const [width, height] of SIZES) {
            await page.setViewport({ width, height });
            await frame(page);
            wrong.push(...(await crowded(page, 'part-screen')).map((one) => `${width} × ${height}: ${one}`));
          }
          await page.close();
          assert.deepEqual(wrong, [], `${JSON.stringify(about)}, ${language}`);
        }
      }
    });
  });
}
