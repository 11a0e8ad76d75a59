/**
 * How long a frame's drawing takes in every view, with its largest story, and
 * how soon a key is seen. Prints the figures as JSON, in milliseconds:
 * `npm run frames`, with the browsers in `BROWSERS`. On a busy machine the
 * figures are those of that machine.
 */
import { BROWSERS, open, start } from './browser.js';

/** Frames that are drawn, and keys that are pressed. */
const [FRAMES, KEYS] = [150, 40];
/** The bar of a frame's drawing is for so many messages in the air. */
const MESSAGES = 2000;
const VIEWS = ['queue', 'routing', 'unicast', 'swarm'];

/** The largest story of a view, a part of the way on. @param {import('puppeteer-core').Page} page */
const largest = (page) => page.evaluate(async () => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const sum = (/** @type {any[]} */ groups) => (groups ?? []).reduce((all, group) => all + (group.count ?? 1), 0);
  const size = ({ scenario: s }) => (s.nodes?.length ?? s.nodes ?? sum(s.clients)) * (s.pieces ?? 1);
  const story = session.view.presets().reduce((/** @type {any} */ a, /** @type {any} */ b) => (size(b) > size(a) ? b : a));
  session.openPreset(story.id);
  session.clock.pause();
  const { run } = session;
  run.raw.seek(run.horizon * 0.2);
  for (let i = 0; i < 4; i += 1) await new Promise(requestAnimationFrame);
  return { story: story.id, size: size(story) };
});

/** Milliseconds of each drawing while it plays, with no more messages than the bar is for, and of the longest of all. @param {import('puppeteer-core').Page} page */
const drawn = (page) => page.evaluate(async (frames, most) => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const pane = /** @type {any} */ (document.querySelector('.panes > :not([hidden])'));
  const took = /** @type {number[]} */ ([]);
  let longest = 0;
  const update = pane.update.bind(pane);
  pane.update = () => {
    const begun = performance.now();
    update();
    const ended = performance.now();
    const messages = (pane.stages ?? []).reduce((/** @type {number} */ sum, /** @type {any} */ stage) => sum + (stage.messages?.count ?? 0), 0);
    longest = Math.max(longest, ended - begun);
    if (messages <= most) took.push(ended - begun);
  };
  const end = performance.now() + 30_000;
  session.clock.play();
  while (took.length < frames && performance.now() < end) {
    if (!session.clock.playing) session.clock.play();
    await new Promise(requestAnimationFrame);
  }
  session.clock.pause();
  delete pane.update;
  return { took, longest };
}, FRAMES, MESSAGES);

/** Milliseconds from a key to the end of the frame that shows what it did. @param {import('puppeteer-core').Page} page */
async function pressed(page) {
  await page.evaluate(() => {
    const seen = /** @type {number[]} */ (/** @type {any} */ (globalThis).seen = []);
    const channel = new MessageChannel();
    let begun = 0;
    channel.port1.onmessage = () => seen.push(performance.now() - begun);
    document.addEventListener('keydown', () => {
      begun = performance.now();
      requestAnimationFrame(() => channel.port2.postMessage(0));
    }, { capture: true });
  });
  for (let i = 0; i < KEYS; i += 1) {
    await page.keyboard.press(i % 8 === 7 ? 'ArrowLeft' : 'ArrowRight');
    await page.waitForFunction((n) => /** @type {any} */ (globalThis).seen.length > n, {}, i);
  }
  return page.evaluate(() => /** @type {any} */ (globalThis).seen);
}

/** @param {number[]} all @param {number} share */
const quantile = (all, share) => Number(all.toSorted((a, b) => a - b)[Math.floor(share * (all.length - 1))].toFixed(2));

const report = /** @type {Record<string, any>} */ ({});
for (const name of BROWSERS) {
  const started = await start(name);
  try {
    report[name] = {};
    for (const view of VIEWS) {
      const { page } = await open(started, `#1/${view}`).catch(() => open(started));
      await page.evaluate((id) => /** @type {any} */ (document.querySelector(`[data-view="${id}"]`)).click(), view);
      await page.waitForFunction((id) => /** @type {any} */ (document.querySelector('servent-lab')).session.view.id === id, {}, view);
      const about = await largest(page);
      const { took: draw, longest } = await drawn(page);
      const key = await pressed(page);
      report[name][view] = { ...about, frames: draw.length, draw_p50: quantile(draw, 0.5), draw_p95: quantile(draw, 0.95), draw_most: Number(longest.toFixed(2)), key_p50: quantile(key, 0.5), key_p95: quantile(key, 0.95) };
      await page.close();
    }
  } finally {
    await started.close();
  }
}
console.log(JSON.stringify(report, null, 2));
