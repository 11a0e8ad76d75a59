/** Ways through the page: links, the browser's own buttons, what is said and for how long, branches beside each other. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, drop, frame, open, start, state } from '../browser.js';

const FOLDER = process.env.SERVENT_TAPES;
const skip = !FOLDER && 'SERVENT_TAPES names no folder of tapes';

/** @param {import('puppeteer-core').Page} page @param {(session: any, ...args: any[]) => any} work @param {...any} args */
const within = (page, work, ...args) => page.evaluate(`(${work})(document.querySelector('servent-lab').session, ...${JSON.stringify(args)})`);
/** @param {import('puppeteer-core').Page} page @param {string} id */
const inView = (page, id) => page.waitForFunction((/** @type {string} */ wanted) => /** @type {any} */ (document.querySelector('servent-lab')).session.view.id === wanted, {}, id);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('a page without a link opens with the easiest picture', async () => {
      const { page } = await open(started, '');
      assert.equal((await state(page)).view, 'routing');
      await page.close();
    });

    test('a link that names a view alone opens its first story, without a complaint', async () => {
      for (const view of ['queue', 'routing', 'unicast', 'swarm', 'meet']) {
        const { page } = await open(started, `#1/${view}`);
        assert.equal((await state(page)).view, view);
        assert.equal(await page.$('.notice.bad'), null);
        await page.close();
      }
    });

    test('a link to a lesson that is not there stays in its view and says so', async () => {
      const { page } = await open(started, '#1/unicast?les=nope');
      assert.equal((await state(page)).view, 'unicast');
      assert.match(await page.$eval('.notice.bad', (n) => n.textContent ?? ''), /lesson/i);
      await page.close();
    });

    test('Back leads to the view that was looked at before, and Forward on again', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=1000');
      await page.waitForFunction(() => location.hash.includes('queue'));
      await new Promise((done) => setTimeout(done, 900));
      await page.click('[data-view="unicast"]');
      await inView(page, 'unicast');
      await page.waitForFunction(() => location.hash.includes('unicast'));
      await page.evaluate(() => history.back());
      await inView(page, 'queue');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.preset === 'one-cut-wire');
      await page.evaluate(() => history.forward());
      await inView(page, 'unicast');
      await page.close();
    });

    test('what asked for something is gone when that is done, and a complaint when another story opens', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=20000');
      await within(page, (session) => session.actions.gesture('cut'));
      await page.waitForSelector('.notice');
      await new Promise((done) => setTimeout(done, 400));
      await page.click('.card-main');
      await page.waitForFunction(() => !document.querySelector('.notice'));
      await drop(page, 'x.sqlog', 'this is no trace');
      await page.waitForSelector('.notice.bad');
      await new Promise((done) => setTimeout(done, 400));
      await within(page, (session) => session.openPreset('impatient'));
      await page.waitForFunction(() => !document.querySelector('.notice.bad'));
      await page.close();
    });

    test('after an empty trace a story plays at its own speed', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=0');
      await drop(page, 'empty.sqlog', '');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.kind === 'trace');
      await within(page, (session) => session.openPreset('impatient'));
      assert.ok(await within(page, (session) => session.clock.speed === session.view.speed));
      await page.close();
    });

    test('a branch stands beside the line it left', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=20000');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      await within(page, (session) => {
        const { id, name: called } = session.run.nodes.find((/** @type {any} */ n) => n.name === 'parq-2');
        session.select({ node: id, ticket: null, name: called });
        session.actions.gesture('ask_now');
        session.setMode('compare');
        session.clock.seek(session.run.horizon * 0.5);
      });
      await frame(page);
      const { beside, digests, dialects, sides } = await within(page, (session) => ({
        beside: session.actions.beside, digests: session.runs().map((/** @type {any} */ run) => run.digest), sides: session.runs().map((/** @type {any} */ run) => run.side),
        dialects: session.runs().map((/** @type {any} */ run) => run.nodes.map((/** @type {any} */ n) => n.dialect).join()),
      }));
      assert.ok(beside);
      assert.equal(dialects[0], dialects[1], 'the same clients speak the same language on both sides');
      assert.notEqual(digests[0], digests[1], 'what was done makes a difference');
      assert.deepEqual(sides, ['what-if 1', 'main']);
      await page.close();
    });

    test('the late push is shown at a pace at which it can be seen', async () => {
      const { page } = await open(started, '#1/routing?les=late-push/2');
      await page.waitForSelector('lesson-panel:not([hidden])');
      const shown = await within(page, (session) => {
        const { pace } = session.clock;
        if (!pace) return null;
        // So long the second after the first push takes on the screen.
        let [now, ms] = [1_742_000_000, 0];
        for (; now < 1_743_000_000 && ms < 20_000; ms += 16) now += pace.ahead(now, 16);
        return ms;
      });
      assert.ok(shown !== null && shown >= 800, `one second of the push takes ${shown} ms`);
      await page.close();
    });

    test('a lesson with an event that does not exist is refused', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=0');
      const text = readFileSync(new URL('../../../sim/lessons/cut-the-wire.toml', import.meta.url), 'utf8').replaceAll('queue.lost', 'queue.vanished');
      await drop(page, 'mine.toml', text);
      await page.waitForFunction(() => /queue\.vanished/.test(document.querySelector('.notice.bad')?.textContent ?? ''));
      await page.close();
    });

    test('a damaged recording is red, with the words and counts of the program, and its gap is on the line', { skip }, async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=0');
      const bytes = Buffer.from(readFileSync(path.join(String(FOLDER), 'get.sqlog')));
      const middle = bytes.indexOf('\n', bytes.length / 2) + 12;
      bytes[middle] ^= 0xff;
      bytes[middle + 1] ^= 0xff;
      await drop(page, 'get.sqlog', bytes);
      await page.waitForSelector('.verdict[data-state="diverged"]');
      const verified = await within(page, (session) => session.run.verified());
      assert.ok(verified.damaged > 0 && verified.unverified > 0, JSON.stringify(verified));
      assert.match(await page.$eval('.verdict', (n) => n.textContent ?? ''), new RegExp(`verified ${verified.checked}/${verified.total}`));
      assert.ok(await page.$('.pin[data-kind="gap"]'));
      assert.match(await page.$eval('.notice.bad', (n) => n.textContent ?? ''), /damaged/);
      await page.close();
    });

    test('a halved recording says how many inputs are unverified', { skip }, async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=0');
      const bytes = readFileSync(path.join(String(FOLDER), 'get.sqlog'));
      await drop(page, 'get.sqlog', bytes.subarray(0, bytes.lastIndexOf('"servent:checkpoint"') - 200));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.kind === 'trace');
      const { unverified } = await within(page, (session) => session.run.verified());
      if (unverified > 0) {
        assert.equal(await page.$eval('.verdict', (n) => /** @type {HTMLElement} */ (n).dataset.state), 'diverged');
        assert.match(await page.$eval('.verdict', (n) => n.textContent ?? ''), new RegExp(`${unverified} inputs? after the last checkpoint unverified`));
      }
      await page.close();
    });

    test('what a servent shared and another got is one run', { skip }, async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=0');
      await page.evaluate((/** @type {[string, string][]} */ all) => {
        const data = new DataTransfer();
        for (const [called, base64] of all) data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], called));
        dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
      }, ['honest', 'get'].map((called) => /** @type {[string, string]} */ ([`${called}.sqlog`, readFileSync(path.join(String(FOLDER), `${called}.sqlog`)).toString('base64')])));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.kind === 'trace');
      const { together, across } = await within(page, (session) => {
        const { run } = session;
        const all = run.records(0, run.count, '');
        return { together: run.together, across: all.filter((/** @type {any} */ r) => r.cause !== null && all[r.cause].node !== r.node).length };
      });
      assert.ok(together && across > 0, 'what one does is caused by what the other sent');
      await page.close();
    });
  });
}
