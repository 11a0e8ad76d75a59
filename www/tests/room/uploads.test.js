/** The page of `servent share --accept`: a visitor uploads files. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { BROWSERS, drop, start } from '../browser.js';
import { PROGRAM, end, heard, run } from '../program.js';

/** Shares a folder, and takes files of at most a million bytes. @param {string} place */
async function share(place) {
  mkdirSync(path.join(place, 'music'));
  writeFileSync(path.join(place, 'music', 'song.ogg'), 'la la');
  const words = ['share', 'music', '--accept', 'inbox', '--listen', '127.0.0.1:0', '--lab', 'off', '--state', 'state', '--json', '--set', 'inbox.file_bytes=1000000'];
  const child = run(words, place);
  const { listening } = await heard(child, ['listening']);
  return { child, url: `http://${listening.at}/` };
}

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    test('files are chosen or dropped, and come whole', async () => {
      const place = mkdtempSync(path.join(tmpdir(), 'servent-uploads-'));
      const file = (/** @type {string} */ called, /** @type {string | Buffer} */ content) => {
        writeFileSync(path.join(place, called), content);
        return path.join(place, called);
      };
      const { child, url } = await share(place);
      const started = await start(name);
      const pages = /** @type {import('puppeteer-core').Page[]} */ ([]);
      try {
        const page = await started.browser.newPage();
        pages.push(page);
        await page.setViewport({ width: 400, height: 800 });
        const complaints = /** @type {string[]} */ ([]);
        page.on('console', (message) => { if (message.type() === 'error') complaints.push(message.text()); });
        await page.goto(url);
        const rows = (/** @type {number} */ n) => page.waitForFunction((/** @type {number} */ many) => {
          const all = [...document.querySelectorAll('#give li')];
          return all.length === many && all.every((row) => row.className) && all.map((row) => /** @type {any} */ (row).innerText.replaceAll('\n', ' '));
        }, { polling: 40 }, n).then((found) => /** @type {Promise<string[]>} */ (found.jsonValue()));

        const odd = 'a <img src=x onerror=alert(1)> ü?#%.txt';
        const bytes = Buffer.alloc(900_000, 'la');
        const input = /** @type {import('puppeteer-core').ElementHandle<HTMLInputElement>} */ (await page.$('#give input'));
        await input.uploadFile(file('a.txt', 'first'), file(odd, bytes), file('large', Buffer.alloc(1_000_001)), file('empty', ''));
        let said = await rows(4);
        assert.match(said[0], /a\.txt .*is here$/);
        assert.match(said[2], /larger than files may be here/);
        await drop(page, 'a.txt', 'second');
        said = await rows(5);
        assert.match(said[4], /is here as a \(2\)\.txt/);
        await drop(page, '.profile', 'hidden');
        assert.match((await rows(6))[5], /Hidden files are not taken/);

        const inbox = (/** @type {string} */ called) => readFileSync(path.join(place, 'inbox', called));
        assert.deepEqual(readdirSync(path.join(place, 'inbox')).sort(), [odd, 'a (2).txt', 'a.txt', 'empty'].sort());
        assert.deepEqual([inbox('a.txt').toString(), inbox('a (2).txt').toString()], ['first', 'second']);
        assert.ok(inbox(odd).equals(bytes));
        assert.equal(await page.$('#give li img'), null);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits on a phone');
        assert.deepEqual(complaints.filter((text) => !text.includes('403')), []);
        if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/uploads-${name}.png` });

        // A page elsewhere cannot upload in this visitor's name.
        const other = await started.browser.newPage();
        pages.push(other);
        await other.goto(started.server.url);
        const refused = await other.evaluate((/** @type {string} */ to) => fetch(`${to}evil`, { method: 'PUT', body: 'x', mode: 'cors' }).then(() => false, () => true), url);
        assert.ok(refused && !readdirSync(path.join(place, 'inbox')).includes('evil'));
      } finally {
        // The browser goes on with other tests.
        for (const page of pages) await page.close();
        await started.close();
        await end(child);
        rmSync(place, { recursive: true, force: true });
      }
    });
  });
}
