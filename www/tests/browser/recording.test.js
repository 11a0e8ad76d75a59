/** A room is recorded: every page hands in its tape, also one that has gone, and all of them are verified and looked at together. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, start } from '../browser.js';
import { PROGRAM, join, room } from '../room.js';

const screen = 'part-screen';

/** Searches until the file is there. @param {any} page @param {string} words */
async function find(page, words) {
  for (let tries = 0; tries < 60; tries += 1) {
    await page.$eval('.part-form input', (/** @type {any} */ input, /** @type {string} */ text) => { input.value = text; input.form.requestSubmit(); }, words);
    if (await page.waitForSelector('[data-list="search"] li:not(.part-empty)', { timeout: 2000 }).catch(() => null)) return;
  }
  assert.fail(`nobody answers ${words}`);
}

/** What the host's screen sees. @param {any} here */
const seen = async (here) => (await fetch(here.screen.replace('#room', 'api/room'))).json();

/** @param {() => Promise<boolean>} ready */
async function until(ready) {
  while (!await ready()) await new Promise((next) => setTimeout(next, 100));
}

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

    test('WB-5: every tape is in the recording, and every node is verified', () => within(['--record', file], async (here) => {
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
    }));

    test('WB-5, WB-10: the host records from the screen, saves a copy, and deletes it', () => within([], async (here) => {
      const { browser } = started;
      const one = await join(browser, here.url);
      assert.ok(await one.page.$('.part-recorded[hidden]'));
      const host = await browser.newPage();
      await host.goto(here.screen.replace('#room', '#host'));
      await host.waitForSelector('.host-record button:not([hidden])');
      await host.click('.host-record button:not([hidden])');
      await until(async () => (await seen(here)).recorded?.tapes === 2);
      await host.waitForSelector('.host-record a:not([hidden])');
      const saved = await (await fetch(here.screen.replace('#room', 'api/room/recording'))).text();
      assert.equal(saved.split('"servent:start"').length - 1, 2);
      await one.page.bringToFront();
      await one.page.waitForSelector('.part-recorded:not([hidden])');
      await host.bringToFront();
      await host.click('.host-record button:not([hidden])');
      await until(async () => (await seen(here)).recorded === null);
      await one.page.bringToFront();
      await one.page.waitForSelector('.part-recorded[hidden]');
      assert.deepEqual(one.complaints, []);
      await one.page.close();
    }));
  });
}
