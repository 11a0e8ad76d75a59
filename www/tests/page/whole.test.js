/** Ways through the page: links, the browser's own buttons, what is said and for how long, branches beside each other. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, drop, frame, open, start, state } from '../browser.js';
import { PROGRAM } from '../program.js';

const FOLDER = process.env.SERVENT_TAPES;
const skip = !FOLDER && 'SERVENT_TAPES names no folder of tapes';

/** The same recording whole, and as what goes wrong with files leaves it. */
function spoilt() {
  const whole = readFileSync(path.join(String(FOLDER), 'swarm-serve.sqlog'));
  const lines = whole.toString('latin1').split('\n');
  const ends = lines.flatMap((line, n) => (line.includes('"servent:checkpoint"') ? [n] : []));
  const given = lines.flatMap((line, n) => (/"servent:(input|timeout)"/.test(line) ? [n] : []));
  const upTo = (/** @type {number} */ n) => Buffer.from(`${lines.slice(0, n + 1).join('\n')}\n`, 'latin1');
  // Of a program that was killed: three inputs behind a checkpoint, and a part of a line.
  const third = given.filter((n) => n > ends[0])[2];
  const killed = Buffer.concat([upTo(third), Buffer.from(lines[third + 1].slice(0, 40), 'latin1')]);
  const damaged = Buffer.from(whole);
  const middle = damaged.indexOf('\n', damaged.length / 2) + 12;
  damaged[middle] ^= 0xff;
  damaged[middle + 1] ^= 0xff;
  const us = Number(/"us":(\d+)/.exec(lines[third])?.[1]);
  const gap = Buffer.concat([upTo(third), Buffer.from(`\x1e{"time":0,"name":"servent:gap","data":{"us":${us},"why":"the disk is full"}}\n`), whole.subarray(upTo(third).length)]);
  return { whole, killed, damaged, gap };
}

/** Numbers without the marks between their thousands, and without what the program adds. @param {string} text */
const plain = (text) => text.replaceAll(/(\d)[\u202f,](?=\d)/g, '$1').replaceAll(/ \(\d+ inputs?, \d+ records?\)/g, '');

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
      await drop(page, 'serve.sqlog', spoilt().damaged);
      await page.waitForSelector('.verdict[data-state="diverged"]');
      const verified = await within(page, (session) => session.run.verified());
      assert.ok(verified.damaged > 0 && verified.unverified > 0, JSON.stringify(verified));
      assert.match(await page.$eval('.verdict', (n) => n.textContent ?? ''), new RegExp(`verified ${verified.checked}/${verified.total}`));
      assert.ok(await page.$('.pin[data-kind="gap"]'));
      assert.match(await page.$eval('.notice.bad', (n) => n.textContent ?? ''), /damaged/);
      await page.close();
    });

    test('a recording that was cut off says how many inputs are unverified, and where that begins', { skip }, async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=0');
      await drop(page, 'serve.sqlog', spoilt().killed);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.kind === 'trace');
      await page.waitForSelector('.verdict[data-state="diverged"]');
      assert.equal(await page.$eval('.verdict', (n) => n.textContent), 'verified 1/1, 3 inputs after the last checkpoint unverified');
      assert.ok(await page.$('.pin[data-kind="gap"]'));
      assert.equal(await page.$('.notice.bad'), null, 'that is no damage');
      await page.close();
    });

    test('the page and the program say the same of a recording that is whole, cut off, damaged, or has a gap', { skip: skip || (!PROGRAM && 'SERVENT_PROGRAM names no program') }, async (t) => {
      const folder = mkdtempSync(path.join(tmpdir(), 'servent-replay-'));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=0');
      /** @type {Record<string, number>} */
      const exits = { whole: 0, killed: 0, damaged: 5, gap: 5 };
      for (const [called, bytes] of Object.entries(spoilt())) {
        const file = path.join(folder, `${called}.sqlog`);
        writeFileSync(file, bytes);
        const json = spawnSync(String(PROGRAM), ['replay', file, '--json'], { encoding: 'utf8' });
        const words = spawnSync(String(PROGRAM), ['replay', file], { encoding: 'utf8' });
        const report = JSON.parse(json.stdout);
        await drop(page, `${called}.sqlog`, bytes);
        await page.waitForFunction((/** @type {string} */ title) => /** @type {any} */ (document.querySelector('servent-lab')).session.title === title, {}, `${called}.sqlog`);
        await frame(page);
        const { checked, total, damaged, unverified, diverged_at: diverged } = await within(page, (session) => session.run.verified());
        assert.deepEqual(
          { checked, total, damaged, unverified, diverged: diverged ?? null },
          { checked: report.verified, total: report.checkpoints, damaged: report.damaged, unverified: report.unverified_inputs, diverged: report.diverged_at }, called);
        assert.deepEqual([json.status, words.status], [exits[called], exits[called]], called);
        // Where a gap is, each says in its own way.
        const verdict = plain(await page.$eval('.verdict', (n) => n.textContent ?? '')).replace(/^replay |^a gap at .*?: (?=verified)/, '');
        const said = plain(words.stdout + words.stderr);
        assert.ok(said.includes(verdict), `${called}: the page says “${verdict}”, the program “${said}”`);
        assert.equal(unverified > 0, called !== 'whole', called);
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
