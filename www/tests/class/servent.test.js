/**
 * A running servent, live: its queue, and on the map its neighbours with every
 * message between it and them, as they come; a person who pauses stays.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { BROWSERS, open, start, state } from '../browser.js';
import { PROGRAM, end, heard, run } from '../program.js';

/**
 * Shares one file; with what it said first of all that is wanted.
 * @param {string} place @param {string} name @param {string} file @param {string[]} how @param {string[]} wanted
 */
async function share(place, name, file, how, wanted) {
  mkdirSync(path.join(place, name));
  writeFileSync(path.join(place, name, file), 'la la');
  return saying(run(['share', name, '--state', `state-${name}`, '--json', '--listen', '127.0.0.1:0', ...how], place), wanted);
}

/** A program, with what it has said up to all that is wanted. @param {import('../program.js').Child} child @param {string[]} wanted */
const saying = async (child, wanted) => ({ child, told: await heard(child, wanted) });

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    test('the map of a running servent grows as messages come, and a person who pauses stays', async () => {
      const place = mkdtempSync(path.join(tmpdir(), 'servent-live-'));
      const children = /** @type {import('../program.js').Child[]} */ ([]);
      const started = await start(name);
      try {
        const middle = await share(place, 'middle', 'nothing.txt', ['--lab', '127.0.0.1:0'], ['listening', 'lab', 'hashed']);
        children.push(middle.child);
        const leaf = ['--lab', 'off', '--peer', middle.told.listening.at, '--set', 'overlay.degree=1'];
        children.push((await share(place, 'far', 'a rare thing.txt', leaf, ['listening', 'hashed'])).child);
        const near = await share(place, 'near', 'something else.txt', leaf, ['listening', 'hashed']);
        children.push(near.child);

        const { page, complaints } = await open(started, '', { url: middle.told.lab.url });
        const lab = () => page.evaluate(() => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          return { view: session.view.id, live: session.live?.follow, nodes: session.run.nodes.length, count: session.run.count, index: session.run.index, flights: session.run.flights?.count ?? 0, hits: session.run.source.totals?.()?.messages };
        });
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.live?.follow);
        // The neighbours may come after the page.
        await page.waitForFunction(() => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          return session.run.records(0, session.run.count, '').filter((/** @type {any} */ r) => r.event.routing?.what === 'opened').length >= 2;
        });
        await page.keyboard.press('2');
        await page.waitForFunction(() => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          return session.view.id === 'routing' && session.run.kind === 'trace' && session.run.nodes.length >= 3;
        });
        const before = await lab();
        assert.equal(before.live, true);

        // A user searches: the query goes through the middle, and the hit comes back.
        const search = () => new Promise((done) => {
          const child = run(['search', 'rare', '--peer', near.told.listening.at, '--wait', '3', '--json', '--state', 'ask', '--set', 'overlay.degree=1'], place);
          children.push(child);
          let said = '';
          child.stdout.on('data', (bytes) => { said += bytes; });
          child.on('close', () => done(said));
        });
        assert.match(String(await search()), /a rare thing/);
        await page.waitForFunction((/** @type {number} */ n) => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          const { run } = session;
          const kinds = [...run.flights.kind.subarray(0, run.flights.count)];
          return run.flights.count > n && kinds.filter((k) => k === 2).length >= 2 && kinds.filter((k) => k === 3).length >= 2 && run.now === run.horizon;
        }, {}, before.flights);
        // What is drawn is what is counted.
        const sums = await page.evaluate(() => {
          const { run } = /** @type {any} */ (document.querySelector('servent-lab')).session;
          const { sent, arrived, flying, dropped } = run.counters();
          return { sent, arrived, flying, dropped, messages: run.source.totals().messages, drawn: run.flights.count };
        });
        assert.deepEqual([sums.sent, sums.messages], [sums.drawn, sums.drawn]);
        assert.equal(sums.arrived + sums.flying, sums.sent);

        // A person who goes back stays, while it goes on.
        await page.click('[data-do="back"]');
        const there = await state(page);
        const { flights } = await lab();
        await search();
        await page.waitForFunction((/** @type {number} */ n) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.flights.count > n, {}, flights);
        const still = await state(page);
        assert.deepEqual([still.now, still.index, (await lab()).live], [there.now, there.index, false]);
        assert.ok(still.end > there.end, 'the line of time grows');
        await page.click('.transport .button.small[aria-pressed]');
        await page.waitForFunction((/** @type {number} */ n) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.now > n, {}, still.now);
        const { verified } = await state(page);
        assert.deepEqual([verified.checked, verified.diverged_at], [verified.total, null]);
        assert.deepEqual(complaints, []);
        await page.close();
      } finally {
        await started.close();
        for (const child of children) await end(child);
        rmSync(place, { recursive: true, force: true });
      }
    });

    test('a receiver is shown on the ladder as soon as something comes', async () => {
      const place = mkdtempSync(path.join(tmpdir(), 'servent-live-'));
      const children = /** @type {import('../program.js').Child[]} */ ([]);
      const started = await start(name);
      try {
        writeFileSync(path.join(place, 'song'), Buffer.alloc(20_000, 7));
        const words = ['receive', '--open', '--yes', '--json', '--listen', '127.0.0.1:0', '-o', 'inbox/', '--lab', '127.0.0.1:0'];
        const receiver = await saying(run(words, place), ['listening', 'lab']);
        children.push(receiver.child);
        const { page, complaints } = await open(started, '', { url: receiver.told.lab.url });
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.live?.follow);
        const send = () => new Promise((done) => {
          const child = run(['send', '--open', receiver.told.listening.address, 'song', '-q'], place);
          children.push(child);
          child.on('close', done);
        });
        assert.equal(await send(), 0);
        const arrows = (/** @type {number} */ more) => page.waitForFunction((/** @type {number} */ n) => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          return session.view.id === 'unicast' && session.live?.follow && session.run.kind === 'trace' && session.run.count > n && session.run.now === session.run.horizon;
        }, {}, more);
        await arrows(5);
        const before = (await state(page)).count;
        assert.equal(await send(), 0, 'it is there already, which is said, too');
        await arrows(before);
        const { verified } = await state(page);
        assert.equal(verified.diverged_at, null);
        assert.deepEqual(complaints, []);
        await page.close();
      } finally {
        await started.close();
        for (const child of children) await end(child);
        rmSync(place, { recursive: true, force: true });
      }
    });
  });
}
