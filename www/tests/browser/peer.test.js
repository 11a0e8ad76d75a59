/** A page takes part in a real servent's room: it searches, downloads, shares, survives a reload, and its tape is verified. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, start } from '../browser.js';
import { WWW } from '../serve.js';

const PROGRAM = process.env.SERVENT_PROGRAM;
const SIZE = 3_000_000;

/** A room on free ports of the loopback, with one song. @param {string[]} more @returns {Promise<any>} */
async function room(...more) {
  const dir = mkdtempSync(path.join(tmpdir(), 'servent-room-'));
  const song = randomBytes(SIZE);
  writeFileSync(path.join(dir, 'long song.ogg'), song);
  const run = spawn(String(PROGRAM), ['room', path.join(dir, 'long song.ogg'), '--json', '--listen', '127.0.0.1:0', '--page', '127.0.0.1:0', '--state', path.join(dir, 'state'), '--set', `www=${WWW}`, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  const facts = /** @type {Record<string, any>} */ ({});
  for await (const line of createInterface({ input: run.stdout })) {
    const fact = JSON.parse(line);
    facts[fact.event] = fact;
    if (facts.screen && facts.hashed) break;
  }
  run.stdout.resume();
  const close = () => new Promise((done) => {
    run.once('exit', () => done(rmSync(dir, { recursive: true, force: true })));
    run.kill('SIGINT');
  });
  return { song, url: facts.room.url, screen: facts.screen.url, close };
}

/** @param {import('puppeteer-core').Browser} browser @param {string} url */
async function join(browser, url, width = 1280) {
  const page = await browser.newPage();
  const complaints = /** @type {string[]} */ ([]);
  page.on('console', (message) => { if (['error', 'warn', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.setViewport({ width, height: 860 });
  await page.goto(url);
  await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
  return { page, complaints };
}

const view = (/** @type {any} */ page) => page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(10));

/** Searches until the file is there: a neighbour may have come a moment ago. @param {any} page @param {string} words */
async function find(page, words) {
  for (let tries = 0; tries < 40; tries += 1) {
    await page.$eval('.part-form input', (/** @type {any} */ input, /** @type {string} */ text) => { input.value = text; input.form.requestSubmit(); }, words);
    const found = await page.waitForSelector('[data-list="search"] li:not(.part-empty)', { timeout: 1500 }).catch(() => null);
    if (found) return;
  }
  assert.fail(`nobody answers ${words}`);
}

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    /** @type {any} */ let here;
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    /** @type {import('puppeteer-core').Browser} */ let browser;
    before(async () => {
      [here, started] = await Promise.all([room(), start(name)]);
      ({ browser } = started);
    });
    after(async () => {
      await started.close();
      await here.close();
    });

    test('a page searches, downloads byte for byte, and its tape is verified', async () => {
      const { page, complaints } = await join(browser, here.url);
      await find(page, 'song');
      await page.click('[data-list="search"] button');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).done.length === 1);
      const [sha1, size] = await page.evaluate(async () => {
        const screen = /** @type {any} */ (document.querySelector('part-screen'));
        const [file] = screen.peer.view(1).done;
        const got = new Uint8Array(await (await screen.door.file(file.part, file.size)).arrayBuffer());
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', got));
        return [[...digest].map((b) => b.toString(16).padStart(2, '0')).join(''), got.length];
      });
      assert.equal(size, SIZE);
      assert.equal(sha1, createHash('sha1').update(here.song).digest('hex'));
      await page.click('[data-do="look"]');
      await page.waitForFunction(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        if (session?.run?.kind !== 'trace' || session.live) return false;
        session.seek(session.end);
        const { checked, total, diverged_at: diverged } = session.run.verified();
        return total > 0 && checked === total && diverged === null;
      });
      assert.deepEqual(complaints, []);
    });

    test('what a page shares is found by another, and stays its own over a reload', async () => {
      const [giver, seeker] = [await join(browser, here.url), await join(browser, here.url, 390)];
      await giver.page.evaluate(() => {
        const data = new DataTransfer();
        data.items.add(new File(['a short poem'], 'poem of mine.txt'));
        document.querySelector('part-screen')?.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
      });
      await giver.page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).shares[0]?.sha1);
      await find(seeker.page, 'poem');
      const before = await view(giver.page);
      await giver.page.reload();
      await giver.page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      const after = await view(giver.page);
      assert.equal(after.servent, before.servent);
      assert.equal(after.shares[0].name, 'poem of mine.txt');
      assert.deepEqual([...giver.complaints, ...seeker.complaints], []);
      // Nobody is wider than the screen of a phone.
      assert.ok(await seeker.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    });

    test('the screen shows who is here', async () => {
      const one = (await join(browser, here.url)).page;
      const screen = await browser.newPage();
      await screen.goto(here.screen);
      const named = await one.$eval('.part-me strong', (n) => n.textContent);
      const told = () => screen.$$eval('.room-one', (all) => all.map((n) => [...n.querySelectorAll('text')].map((t) => t.textContent).join(' ')));
      while (!(await told()).includes(String(named))) await new Promise((wait) => setTimeout(wait, 100));
      await one.close();
      while ((await told()).includes(String(named))) await new Promise((wait) => setTimeout(wait, 100));
      assert.equal(`http://${await screen.$eval('.room-address', (n) => n.textContent)}/`, here.url);
    });
  });
}
