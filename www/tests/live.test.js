/** The page on a running servent's server: it follows the tape until the user goes back. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { BROWSERS, open, start, state } from './browser.js';
import { PAGE } from './serve.js';

const TRACE = process.env.SERVENT_TRACE;

/** Answers like `servent`, with a recorded tape that arrives piece by piece. @param {string[]} lines */
function servent(lines) {
  return (/** @type {any} */ req, /** @type {any} */ res) => {
    if (req.url === '/') {
      const index = readFileSync(path.join(PAGE, 'index.html'), 'utf8').replace('name="servent-api" content="none"', 'name="servent-api" content="here"');
      res.writeHead(200, { 'content-type': 'text/html' }).end(index);
    } else if (req.url === '/api/info') {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ name: 'here', version: '0', live: true, traces: [] }));
    } else if (req.url.startsWith('/api/tape')) {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      let next = 0;
      const timer = setInterval(() => {
        const to = next + Math.ceil(lines.length / 40);
        for (const line of lines.slice(next, to)) res.write(`data: ${line}\n\n`);
        next = to;
      }, 100);
      req.on('close', () => clearInterval(timer));
    } else return false;
    return true;
  };
}

for (const name of BROWSERS) {
  describe(name, { skip: !TRACE && 'SERVENT_TRACE names no trace of a servent' }, () => {
    test('follows now, stays where the user goes, returns', async () => {
      const lines = readFileSync(String(TRACE), 'utf8').split('\x1e').map((line) => line.trim()).filter(Boolean);
      const started = await start(name, { extra: servent(lines) });
      const { page, complaints } = await open(started);
      const follows = () => page.$eval('.transport .button.small[aria-pressed]', (n) => n.getAttribute('aria-pressed'));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.index > 5);
      assert.equal(await follows(), 'true');
      await page.click('[data-do="back"]');
      const there = await state(page);
      assert.equal(await follows(), 'false');
      await page.waitForFunction((n) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.count > n, {}, there.count);
      assert.equal((await state(page)).index, there.index, 'the tape grows, the view stays');
      await page.click('.transport .button.small[aria-pressed]');
      await page.waitForFunction((n) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.index > n, {}, there.index);
      assert.equal(await follows(), 'true');
      assert.deepEqual(complaints, []);
      await started.close();
    });
  });
}
