/**
 * The views and a lesson as they look, on a phone, a laptop, a projector, and a large
 * screen in the dark, to be looked at before a change of styles is committed:
 * `npm run looks -- FOLDER` leaves them in that folder, after `cargo xtask page`.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { faded, frame, open, start } from './browser.js';

/** What is looked at, at a moment of its own. @type {Record<string, string>} */
const PICTURES = {
  queue: '#1/queue?p=one-cut-wire&t=40000',
  routing: '#1/routing?p=round-and-back&t=400',
  unicast: '#1/unicast?p=lose-middle&t=400',
  swarm: '#1/swarm?p=two-for-one&t=5000',
  meet: '#1/meet?p=knock-early&t=1350',
  lesson: '#1/queue?les=cut-the-wire/2',
};

/** @typedef {{width: number, height: number, dark?: boolean, projector?: boolean}} Screen */
/** A phone, a laptop, a laptop at a projector, a large screen in the dark. @type {Record<string, Screen>} */
const SCREENS = {
  phone: { width: 390, height: 844 },
  laptop: { width: 1280, height: 800 },
  projector: { width: 1280, height: 800, projector: true },
  dark: { width: 1920, height: 1080, dark: true },
};

/** A page that stands still at its moment. @param {Awaited<ReturnType<typeof start>>} started @param {string} hash */
async function still(started, hash) {
  const { page } = await open(started, hash);
  await page.evaluate(async () => {
    document.querySelector('.hint')?.remove();
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    session.clock.pause();
    while (!session.runs().every((/** @type {any} */ run) => run.explore(50))) await new Promise(requestAnimationFrame);
    session.clock.touch();
  });
  return page;
}

/** Puts the page on a screen. @param {import('puppeteer-core').Page} page @param {Screen} screen */
async function shown(page, { width, height, dark = false, projector = false }) {
  await page.setViewport({ width, height });
  await page.evaluate((theme, on) => {
    const root = document.documentElement;
    root.dataset.theme = theme;
    root.toggleAttribute('data-projector', on);
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    session.emit('theme');
    session.clock.touch();
  }, dark ? 'dark' : 'light', projector);
  await faded(page);
  await frame(page);
  await frame(page);
}

/** @param {string} folder */
async function draw(folder) {
  mkdirSync(folder, { recursive: true });
  const started = await start('chromium');
  try {
    for (const [name, hash] of Object.entries(PICTURES)) {
      const page = await still(started, hash);
      for (const [screen, how] of Object.entries(SCREENS)) {
        await shown(page, how);
        await page.screenshot({ path: /** @type {`${string}.png`} */ (path.join(folder, `${name}-${screen}.png`)) });
      }
      await page.close();
    }
  } finally {
    await started.close();
  }
}

await draw(path.resolve(process.argv[2] ?? 'looks'));
