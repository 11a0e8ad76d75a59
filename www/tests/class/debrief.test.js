/** From a room to what it has recorded, in the lab, and back: by the tab of the room, the browser's own buttons, and a reload. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, patient, start } from '../browser.js';
import { PROGRAM, join, room, tap } from '../room.js';

/** Waits until this is seen alone: a screen, or the lab, with a recording that was not read before where one is asked for. @param {any} page @param {'host'|'part'|'servent'} which */
const shown = (page, which) => page.waitForFunction((/** @type {string} */ name) => {
  const all = [...document.querySelectorAll('host-screen, part-screen, room-screen, servent-lab')].filter((one) => one.checkVisibility());
  return all.length === 1 && all[0].localName.startsWith(name);
}, {}, which);

/** The lab shows a recording. @param {any} page */
const recording = async (page) => {
  await shown(page, 'servent');
  await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session?.run?.kind === 'trace');
  // The address follows what is looked at a moment later.
  await page.waitForFunction(() => history.state?.screen && location.hash === '#1/queue');
};

/** Marks what the lab shows, to know it again. @param {any} page */
const marked = (page) => page.evaluate(() => { /** @type {any} */ (document.querySelector('servent-lab')).session.run.seenBefore = true; });
/** @param {any} page */
const isMarked = (page) => page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.seenBefore === true);

/** @param {any} page */
const back = (page) => page.evaluate(() => history.back());
/** @param {any} page */
const forward = (page) => page.evaluate(() => history.forward());

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    /** @type {import('puppeteer-core').Browser} */ let browser;
    before(async () => {
      started = await start(name);
      ({ browser } = started);
    });
    after(() => started.close());

    test('wb_9_a_host_comes_back_from_the_recording_to_the_lesson_where_it_was_left', async (t) => {
      const here = await room();
      t.after(() => here.close());
      await join(browser, here.url);
      const host = patient(await browser.newPage());
      t.after(() => host.close());
      // The core is there later than the first answer of the servent.
      await host.evaluateOnNewDocument(() => {
        const compile = WebAssembly.compileStreaming;
        WebAssembly.compileStreaming = async (source) => { await new Promise((done) => setTimeout(done, 1500)); return compile(source); };
      });
      await host.goto(here.host);
      await host.waitForSelector('[data-begin]');
      const teach = (/** @type {unknown} */ act) => host.evaluate((body) => fetch('api/room', { method: 'POST', headers: { 'content-type': 'application/json' }, body }), JSON.stringify({ teach: act }));
      await teach({ lesson: 'the-line' });
      await teach({ step: 7 });
      const atStep = () => host.waitForFunction(() => document.querySelector('.class-name')?.textContent?.includes(' 8 of 8'));
      await atStep();

      // No page came to the line: there is nothing to lay side by side, and that is said.
      await tap(host, '[data-teach="host.arrivals"]');
      await host.waitForFunction(() => /nothing of the kind/.test(document.querySelector('host-screen .part-note:not([hidden])')?.textContent ?? ''));
      await shown(host, 'host');

      await tap(host, '[data-teach="host.debrief"]');
      await recording(host);
      assert.equal(await host.$eval('host-screen .part-note', (/** @type {any} */ n) => n.hidden), true, 'what was said is over');
      await marked(host);

      // By the tab, and from there by Back to the lab as it was left, and by Forward again.
      await tap(host, '[data-view="host"]');
      await shown(host, 'host');
      await atStep();
      // Nothing that happens behind it takes the address away.
      await host.evaluate(() => new Promise((done) => setTimeout(done, 900)));
      assert.equal(await host.evaluate(() => location.hash), '#host');
      await back(host);
      await shown(host, 'servent');
      assert.ok(await isMarked(host));
      await forward(host);
      await shown(host, 'host');
      await atStep();

      // By Back straight away, also before all is read.
      await tap(host, '[data-teach="host.debrief"]');
      await shown(host, 'servent');
      await back(host);
      await shown(host, 'host');
      await atStep();
      await tap(host, '[data-teach="host.debrief"]');
      await recording(host);
      assert.equal(await host.$$eval('[data-view="host"]', (/** @type {any[]} */ all) => all.length), 1);

      // A reload of the recording, which has no address, leads to the room.
      await host.reload();
      await shown(host, 'host');
      await atStep();

      // By the title into the lab alone, and back.
      await tap(host, 'host-screen .part-head button');
      await shown(host, 'servent');
      await tap(host, '[data-view="host"]');
      await shown(host, 'host');
      await atStep();
    });

    test('wb_2_a_page_that_looks_inside_its_servent_comes_back_to_it_and_the_servent_goes_on', async (t) => {
      const here = await room();
      t.after(() => here.close());
      const { page, complaints } = await join(browser, here.url);
      await page.bringToFront();
      await page.evaluate(() => { /** @type {any} */ (document.querySelector('part-screen')).peer.seenBefore = true; });
      const isSame = () => page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).peer.seenBefore === true);
      await tap(page, '[data-do="look"]');
      await recording(page);
      await marked(page);
      await back(page);
      await shown(page, 'part');
      assert.ok(await isSame(), 'it is the servent that it was');
      await forward(page);
      await shown(page, 'servent');
      assert.ok(await isMarked(page));
      await tap(page, '[data-view="part"]');
      await shown(page, 'part');
      assert.ok(await isSame());
      await tap(page, '[data-do="look"]');
      await recording(page);
      assert.deepEqual(complaints, []);
      await page.reload();
      await page.waitForSelector('part-screen[data-ready]');
      await shown(page, 'part');
    });
  });
}
