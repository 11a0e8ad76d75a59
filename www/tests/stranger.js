/**
 * The first minute of a person who has never been here, as it is seen: a picture
 * each second, at the sizes of a laptop and of a phone. `npm run stranger -- FOLDER`
 * leaves them in that folder, after `cargo xtask page`; the test of the same name
 * looks at the moments that matter.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { open, start } from './browser.js';

/** @import { Page } from 'puppeteer-core' */

/** A laptop and a phone. @type {{width: number, height: number}[]} */
export const SIZES = [{ width: 1280, height: 800 }, { width: 390, height: 844 }];
const SECONDS = 60;
/** When the stranger breaks something, in seconds. */
const BREAKS = 30;

/** A sentence that is there to be read: in the window, and with nothing over it. @param {Page} page @param {string} selector */
export const readable = (page, selector) => page.evaluate((wanted) => {
  const node = [...document.querySelectorAll(wanted)].find((one) => one.checkVisibility());
  if (!node) return '';
  const { left, top, right, bottom, width, height } = node.getBoundingClientRect();
  const at = document.elementFromPoint(left + width / 2, top + height / 2);
  const whole = left >= 0 && top >= 0 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
  return whole && at && (node === at || node.contains(at) || at.contains(node)) ? node.textContent ?? '' : '';
}, selector);

/** Selects the first servent of the map by a click on it. @param {Page} page */
export async function select(page) {
  const at = await page.evaluate(() => {
    const [stage] = /** @type {any} */ (document.querySelector('routing-pane')).stages;
    const { left, top } = stage.node.getBoundingClientRect();
    const { x, y } = stage.where({ kind: 'node', i: 2 });
    return { x: left + x, y: top + y };
  });
  await page.mouse.click(at.x, at.y);
}

/** The button that breaks what is selected, unfolded where it is folded. @param {Page} page */
export async function breakIt(page) {
  const folded = await page.$eval('lab-inspector', (n) => (n.checkVisibility() ? '' : n.id));
  if (folded) await page.click(`[aria-controls="${folded}"]`);
  const button = await page.waitForSelector('lab-inspector [data-gesture="kill"], lab-inspector [data-gesture="crash"]');
  await button?.click();
}

async function film() {
  const folder = path.resolve(process.argv[2] ?? 'stranger');
  mkdirSync(folder, { recursive: true });
  const started = await start('chromium');
  try {
    for (const size of SIZES) {
      const { page } = await open(started, '', size);
      for (let second = 1; second <= SECONDS; second += 1) {
        await new Promise((done) => { setTimeout(done, 1000); });
        if (second === BREAKS) {
          await select(page);
          await breakIt(page);
        }
        await page.screenshot({ path: /** @type {`${string}.png`} */ (path.join(folder, `${size.width}-${String(second).padStart(2, '0')}.png`)) });
      }
      await page.close();
    }
  } finally {
    await started.close();
  }
}

if (process.argv[1] === import.meta.filename) await film();
