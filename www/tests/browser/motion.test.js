/** What moves says what happens, and is soon there; where a user wants stillness it does not move at all. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';

/** @import { Page } from 'puppeteer-core' */

/** Nothing moves longer, in milliseconds. */
const MOST = 400;

/** A user who wants stillness. Firefox cannot be asked for one: there the scripts are told so, until the page is left, and the style sheets are left out. @param {Page} page @param {string} name of the browser */
async function calm(page, name) {
  if (name !== 'chromium') {
    return page.evaluate(() => {
      const plain = window.matchMedia;
      const still = (/** @type {string} */ media) => (media.includes('reduced-motion') ? Object.defineProperty(plain.call(window, media), 'matches', { value: true }) : plain.call(window, media));
      Object.assign(window, { matchMedia: still, restless: () => Object.assign(window, { matchMedia: plain }) });
    });
  }
  const session = await page.createCDPSession();
  await session.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-reduced-motion', value: 'reduce' }] });
  return frame(page);
}

/** The same window is used by the next test. @param {Page} page */
const restless = (page) => page.evaluate(() => { /** @type {any} */ (window).restless?.(); });

/** How long each rule of the style sheets lets something move, in milliseconds. @param {Page} page */
const styled = (page) => page.evaluate(() => {
  const probe = document.body.appendChild(document.createElement('i'));
  const ms = (/** @type {string} */ list) => list.split(',').map((one) => parseFloat(one) * (/ms\s*$/.test(one) ? 1 : 1000));
  const long = (/** @type {CSSStyleDeclaration} */ style, /** @type {string} */ kind) => {
    const [lengths, delays] = ['duration', 'delay'].map((part) => ms(style.getPropertyValue(`${kind}-${part}`)));
    const times = kind === 'animation' ? parseFloat(style.animationIterationCount) : 1;
    return Math.max(...lengths.map((length, i) => length * times + delays[i % delays.length]));
  };
  const found = /** @type {[string, number][]} */ ([]);
  const read = (/** @type {any} */ rule) => {
    const moves = ['transition', 'animation'].filter((kind) => rule.style?.getPropertyValue(kind) || rule.style?.getPropertyValue(`${kind}-duration`));
    for (const kind of moves) {
      // What names a length by a variable has none before it is used.
      probe.style.cssText = [kind, `${kind}-duration`].map((key) => (rule.style.getPropertyValue(key) ? `${key}: ${rule.style.getPropertyValue(key)};` : '')).join('');
      found.push([rule.selectorText, long(getComputedStyle(probe), kind)]);
    }
    for (const inner of rule.cssRules ?? []) read(inner);
    if (rule.styleSheet) for (const inner of rule.styleSheet.cssRules) read(inner);
  };
  for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) read(rule);
  probe.remove();
  return found;
});

/** Plays a rush hour in which cards change lanes, and strikes once: how long each motion is to take. @param {Page} page @param {boolean} [styled] also those of the style sheets */
const played = (page, styled = true) => page.evaluate(async (styled) => {
  const lengths = /** @type {number[]} */ ([]);
  const plain = Element.prototype.animate;
  Element.prototype.animate = function (frames, how) {
    lengths.push(Number(typeof how === 'object' ? how.duration : how));
    return plain.call(this, frames, how);
  };
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  session.clock.speed = 10;
  session.clock.play();
  for (const end = performance.now() + 3000; performance.now() < end;) {
    await new Promise(requestAnimationFrame);
    if (performance.now() > end - 600 && !session.actions.faults().length) session.actions.gesture('restart');
    if (styled) lengths.push(...document.getAnimations().map((one) => Number(one.effect?.getComputedTiming().endTime)));
  }
  session.clock.pause();
  Element.prototype.animate = plain;
  return lengths;
}, styled);

/** Jumps to the end of a long picture: when it stood elsewhere, and the longest wait for a frame, in milliseconds. @param {Page} page */
const jumped = (page) => page.evaluate(async () => {
  const scroller = /** @type {HTMLElement} */ (document.querySelector('.unicast-scroll'));
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const begun = performance.now();
  session.clock.seek(session.clock.end);
  let [last, before, gap] = [scroller.scrollTop, begun, 0];
  const stood = [];
  while (performance.now() < begun + 1500) {
    await new Promise(requestAnimationFrame);
    gap = Math.max(gap, performance.now() - before);
    before = performance.now();
    if (scroller.scrollTop !== last) stood.push(before - begun);
    last = scroller.scrollTop;
  }
  return { stood, gap, last };
});

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('no rule of the style sheets moves anything longer', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour');
      const found = await styled(page);
      assert.ok(found.filter(([, ms]) => ms > 0).length > 5, `it reads them: ${found.length}`);
      assert.ok(found.some(([selector, ms]) => selector.includes('data-struck') && ms > 0), 'an animation too');
      assert.deepEqual(found.filter(([, ms]) => !(ms <= MOST)), []);
      await page.close();
    });

    test('cards that change lanes are soon there, and what strikes is soon over', async () => {
      const { page, complaints } = await open(started, '#1/queue?m=single&p=rush-hour&t=60000');
      const lengths = await played(page);
      assert.ok(lengths.length > 3, 'something moved');
      assert.deepEqual(lengths.filter((ms) => !(ms <= MOST)), []);
      // What has begun to move may arrive.
      await page.waitForFunction(() => document.getAnimations().length === 0);
      await calm(page, name);
      assert.deepEqual(await played(page, name === 'chromium'), [], 'for a user who wants stillness nothing moves');
      await restless(page);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('a picture that scrolls by itself is soon there', async () => {
      const { page } = await open(started, '#1/unicast?m=single&p=lose-middle&t=0');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      await frame(page);
      const { stood, gap, last } = await jumped(page);
      assert.ok(stood.length > 1 && last > 100, `it scrolls, and does not jump: ${stood}, ${last}`);
      assert.ok(stood[stood.length - 1] <= MOST + 2 * gap, `${stood[stood.length - 1]} ms, with ${gap} ms between two frames`);
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(0));
      await calm(page, name);
      await page.evaluate(() => new Promise((done) => setTimeout(done, 600)));
      assert.equal((await jumped(page)).stood.length, 1, 'for a user who wants stillness it is there at once');
      await restless(page);
      await page.close();
    });
  });
}
