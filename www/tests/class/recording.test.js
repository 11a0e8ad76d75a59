/** A room is recorded: every page hands in its tape, also one that has gone, and all of them are verified and looked at together. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, drop, open, start } from '../browser.js';
import { PROGRAM, join, room, tap, until } from '../room.js';

const screen = 'part-screen';

/** Searches until the file is there. @param {any} page @param {string} words */
async function find(page, words) {
  for (let tries = 0; tries < 60; tries += 1) {
    await page.$eval('.part-form input', (/** @type {any} */ input, /** @type {string} */ text) => { input.value = text; input.form.requestSubmit(); }, words);
    if (await page.waitForSelector('[data-list="search"] li:not(.part-empty)', { timeout: 2000 }).catch(() => null)) return;
  }
  assert.fail(`no program answers ${words}`);
}

/** What the host's screen sees. @param {any} here */
const seen = async (here) => (await here.ask('api/room')).json();

/** A room, and its end whatever happens in between. @param {string[]} more @param {(here: any) => Promise<void>} work */
async function within(more, work) {
  const here = await room(...more);
  let open = true;
  here.end = async () => { if (open) await here.close(); open = false; };
  try { await work(here); } finally { await here.end(); }
}

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program', timeout: 300_000 }, () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'servent-recording-'));
    const file = path.join(folder, 'class.sqlog');
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    before(async () => { started = await start(name); });
    after(async () => {
      await started.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test('wb_5_every_tape_is_in_the_recording_and_every_node_is_verified', () => within(['--record', file], async (here) => {
      const { browser } = started;
      const [giver, seeker] = [await join(browser, here.url), await join(browser, here.url)];
      for (const { page } of [giver, seeker]) await page.waitForSelector('.part-recorded:not([hidden])');
      await giver.page.evaluate((/** @type {string} */ of) => /** @type {any} */ (document.querySelector(of)).peer.share(new File(['a poem'], 'poem of mine.txt')), screen);
      await giver.page.waitForFunction((/** @type {string} */ of) => /** @type {any} */ (document.querySelector(of)).peer.view(1).shares[0]?.sha1, {}, screen);
      await seeker.page.bringToFront();
      await find(seeker.page, 'poem');
      // One goes before the end, the other one is there until then.
      await until(async () => (await seen(here)).recorded?.tapes === 3);
      await giver.page.close();
      await until(async () => (await seen(here)).people.length === 1);
      assert.deepEqual([...giver.complaints, ...seeker.complaints], []);
      await here.end();
      const report = JSON.parse(execFileSync(String(PROGRAM), ['room', 'replay', file, '--json'], { encoding: 'utf8' }));
      assert.equal(report.nodes.length, 3);
      assert.ok(report.verified && report.nodes.every((/** @type {any} */ one) => one.sound && one.inputs > 3), JSON.stringify(report));
      assert.equal(report.nodes[0].name, 'servent');
      // What the seeker did last is on it as well as what the giver did.
      const tape = readFileSync(file, 'latin1');
      assert.ok(tape.includes('poem of mine.txt') && tape.includes('"words":"poem"'));
      // Merged, every hit has its query.
      assert.ok(report.merged.hits > 0 && report.merged.unasked.length === 0, JSON.stringify(report.merged));

      // And the lab has all of it on one map.
      const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
      await drop(page, 'class.sqlog', readFileSync(file));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('routing-pane'))?.stages[0]?.run.flights.count > 0);
      await page.waitForFunction(() => document.querySelector('.verdict')?.textContent?.endsWith('3 of 3 nodes'));
      const map = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        session.clock.seek(run.horizon);
        const { flights } = run;
        const all = run.records(0, run.count, '');
        const ways = [...flights.kind].map((kind, i) => ({ kind, from: flights.from[i], to: flights.to[i], way: flights.due[i] - flights.sent[i] })).slice(0, flights.count);
        return {
          view: session.view.id, nodes: run.nodes.length, names: new Set(run.nodes.map((/** @type {any} */ n) => n.name)).size, links: run.links.count, ways,
          asked: run.searches.find((/** @type {any} */ one) => one.words === 'poem' && one.hits > 0),
          across: all.filter((/** @type {any} */ r) => r.cause !== null && all[r.cause].node !== r.node).length,
        };
      });
      // No page is there twice: all that they heard is from one another.
      assert.deepEqual([map.view, map.nodes, map.names], ['routing', 3, 3], JSON.stringify(map));
      assert.ok(map.links >= 2 && map.across > 0 && map.asked?.node > 0, JSON.stringify(map));
      // The hit goes from page to servent and from servent to page, and no way is estimated.
      const hits = map.ways.filter(({ kind }) => kind === 3);
      assert.ok(hits.some(({ to }) => to === 0) && hits.some(({ from, to }) => from === 0 && to === map.asked.node), JSON.stringify(hits));
      assert.ok(map.ways.some(({ way }) => way !== 40_000) && hits.every(({ way }) => way !== 40_000), JSON.stringify(map.ways));
      assert.deepEqual(complaints, []);
      await page.close();
    }));

    test('wb_10_what_is_given_away_has_other_names_verifies_and_tells_the_same', () => within(['--record', path.join(folder, 'kept.sqlog')], async (here) => {
      const { browser } = started;
      const [kept, shown] = ['kept.sqlog', 'shown.sqlog'].map((of) => path.join(folder, of));
      const [giver, seeker] = [await join(browser, here.url), await join(browser, here.url)];
      const names = await Promise.all([giver, seeker].map(({ page }) => page.$eval('.part-me strong', (n) => n.textContent ?? '')));
      await giver.page.evaluate((/** @type {string} */ of) => /** @type {any} */ (document.querySelector(of)).peer.share(new File(['some verses'], 'poem of mine.txt')), screen);
      await giver.page.waitForFunction((/** @type {string} */ of) => /** @type {any} */ (document.querySelector(of)).peer.view(1).shares[0]?.sha1, {}, screen);
      // From page to page, and from the servent.
      for (const words of ['poem', 'song']) {
        await seeker.page.bringToFront();
        await find(seeker.page, words);
        await tap(seeker.page, '[data-list="search"] button');
      }
      await seeker.page.waitForFunction((/** @type {string} */ of) => /** @type {any} */ (document.querySelector(of)).peer.view(1).done.length === 2, { timeout: 60_000 }, screen);
      await until(async () => (await seen(here)).recorded?.tapes === 3);
      await here.end();
      const program = (/** @type {string[]} */ ...line) => JSON.parse(execFileSync(String(PROGRAM), ['room', ...line, '--json'], { encoding: 'utf8' }));
      const { nodes } = program('export', kept, shown);
      assert.equal(nodes.length, 3);
      // Nothing that happened between them is different.
      for (const { name: node, steps, changed } of nodes) assert.ok(steps > 20 && changed === 0, `${node}: ${changed} of ${steps} steps`);
      const [before, now] = [program('replay', kept), program('replay', shown)];
      assert.ok(now.verified && before.merged.hits > 0, JSON.stringify(now));
      assert.deepEqual([now.merged.hits, now.merged.unasked.length], [before.merged.hits, 0]);
      const [old, tape] = [kept, shown].map((of) => readFileSync(of, 'latin1'));
      const hex = (/** @type {string} */ words) => Buffer.from(words).toString('hex');
      const said = [...names, 'poem', 'long song', ...names.map(hex), hex('poem'), hex('song')];
      assert.deepEqual(said.filter((words) => !old.includes(words)), [], 'what was said is on the tapes that are kept');
      assert.deepEqual(said.filter((words) => tape.includes(words)), [], 'and on no other');
    }));

    test('wb_10_the_host_records_from_the_screen_saves_a_copy_and_deletes_it', () => within([], async (here) => {
      const { browser } = started;
      const one = await join(browser, here.url);
      assert.ok(await one.page.$('.part-recorded[hidden]'));
      const host = await browser.newPage();
      await host.goto(here.host);
      await host.waitForSelector('.host-record button:not([hidden])');
      await tap(host, '.host-record button:not([hidden])');
      await until(async () => (await seen(here)).recorded?.tapes === 2);
      await host.waitForSelector('.host-record a:not([hidden])');
      const saved = await (await here.ask('api/room/recording')).text();
      assert.equal(saved.split('"servent:start"').length - 1, 2);
      await one.page.bringToFront();
      await one.page.waitForSelector('.part-recorded:not([hidden])');
      await host.bringToFront();
      await tap(host, '.host-record button:not([hidden])');
      await until(async () => (await seen(here)).recorded === null);
      await one.page.bringToFront();
      await one.page.waitForSelector('.part-recorded[hidden]');
      assert.deepEqual(one.complaints, []);
      await one.page.close();
    }));
  });
}
