/** The page on a running servent's server: it follows the tape until the user goes back. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { BROWSERS, drop, open, start, state } from '../browser.js';
import { WWW } from '../serve.js';

const TRACE = process.env.LAB_TRACE;

/** One upload, no client in line: how `/api/queue` tells it. */
const QUEUE = {
  at: 2e15,
  queue: {
    slots: 1, free: 0, length: 0, capacity: 9, from: 1, cards: [], kept: [],
    uploads: [{ ticket: 'a'.repeat(32), peer: '10.9.8.7:6346', dialect: 'parq', file: 'song', conn: 2, start: 0, end: 100, sent: 50, since: 1e15, reserved_until: null }],
  },
  fetches: [], connections: 1, shared: 1, lanes: { sync: 0, async: 0, grace: 0, beyond: 0 },
};

/**
 * Answers like `servent`, with a recorded tape that arrives piece by piece.
 * @param {string[]} lines
 * @param {{servents?: {id: string, name: string}[], asked?: string[], queues?: string[], down?: boolean, streams?: Set<any>}} [how] `down`: no tape is given
 */
function servent(lines, how = {}) {
  return (/** @type {any} */ req, /** @type {any} */ res) => {
    if (req.url === '/') {
      const index = readFileSync(path.join(WWW, 'index.html'), 'utf8').replace('name="servent-api" content="none"', 'name="servent-api" content="here"');
      res.writeHead(200, { 'content-type': 'text/html' }).end(index);
    } else if (req.url === '/api/info') {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ name: 'here', version: '0', live: true, traces: [], servents: how.servents }));
    } else if (req.url.startsWith('/api/queue')) {
      how.queues?.push(req.url);
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(QUEUE));
    } else if (req.url.startsWith('/api/tape')) {
      how.asked?.push(req.url);
      if (how.down) {
        res.writeHead(503).end();
        return true;
      }
      how.streams?.add(res);
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
  describe(name, { skip: !TRACE && 'LAB_TRACE names no trace of a servent' }, () => {
    test('follows now, stays where the user goes, returns', async (ctx) => {
      const lines = readFileSync(String(TRACE), 'utf8').split('\x1e').map((line) => line.trim()).filter(Boolean);
      const started = await start(name, { extra: servent(lines) });
      ctx.after(() => started.close());
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
    });

    test('a servent that was restarted is found again', async (ctx) => {
      const lines = readFileSync(String(TRACE), 'utf8').split('\x1e').map((line) => line.trim()).filter(Boolean);
      const how = { streams: new Set(), asked: /** @type {string[]} */ ([]), down: false };
      const started = await start(name, { extra: servent(lines, how) });
      ctx.after(() => started.close());
      const { page } = await open(started);
      const button = () => page.$eval('.transport .button.small[aria-pressed]', (n) => n.textContent ?? '');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.index > 5);
      await page.click('[data-do="back"]');
      const there = await state(page);
      how.down = true;
      for (const stream of how.streams) stream.destroy();
      await page.waitForSelector('.notice');
      assert.match(await page.$eval('.notice', (n) => n.textContent ?? ''), /does not answer/);
      assert.match(await button(), /Waiting/);
      assert.equal((await state(page)).index, there.index, 'what came in stays');
      how.down = false;
      await page.waitForFunction(() => /Return/.test(document.querySelector('.transport .button.small[aria-pressed]')?.textContent ?? ''));
      await page.waitForFunction((at) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.now === at, {}, there.now);
      assert.equal((await state(page)).index, there.index, 'and so does the user, who looked back');
      assert.ok(how.asked.length >= 2 && how.asked.length < 8, `${how.asked.length} attempts`);
    });

    test('a tape that was cut shows how the servent stands, and says that nothing is replayed', async (ctx) => {
      const whole = readFileSync(String(TRACE), 'utf8').split('\x1e').map((line) => line.trim()).filter(Boolean);
      const gap = JSON.stringify({ time: 0, name: 'servent:gap', data: { us: 1, why: 'older lines are not kept in memory' } });
      const lines = [...whole.slice(0, 2), gap, ...whole.slice(Math.floor(whole.length / 2))];
      const how = { asked: /** @type {string[]} */ ([]), queues: /** @type {string[]} */ ([]) };
      const started = await start(name, { extra: servent(lines, how) });
      ctx.after(() => started.close());
      const { page, complaints } = await open(started);
      await page.waitForFunction(() => document.querySelector('server-queue .lane-scroll')?.textContent?.includes('10.9.8.7'));
      assert.match(await page.$eval('.notice', (n) => n.textContent ?? ''), /nothing is replayed/);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.count > 5);
      assert.match(how.queues[0], /^\/api\/queue\?.*count=\d+/);
      // A person who looks back sees what is known of then, and that is not how it stands.
      await page.click('[data-do="back"]');
      await page.waitForFunction(() => !document.querySelector('server-queue .lane-scroll')?.textContent?.includes('10.9.8.7'));
      assert.deepEqual(complaints, []);
    });

    test('of several servents one is chosen', async (ctx) => {
      const lines = readFileSync(String(TRACE), 'utf8').split('\x1e').map((line) => line.trim()).filter(Boolean);
      const how = { asked: /** @type {string[]} */ ([]), servents: [{ id: 'a', name: 'anna' }, { id: 'b', name: 'bela' }] };
      const started = await start(name, { extra: servent(lines, how) });
      ctx.after(() => started.close());
      const { page } = await open(started);
      await page.select('.lab-head select', 'servent:b');
      await page.waitForFunction(() => /bela/.test(document.querySelector('.story')?.textContent ?? ''));
      assert.deepEqual(how.asked, ['/api/tape?servent=a', '/api/tape?servent=b']);
    });

    test('a recorded run is written as packets', async (ctx) => {
      const started = await start(name);
      ctx.after(() => started.close());
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      await drop(page, 'real.sqlog', readFileSync(String(TRACE)));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.kind === 'trace');
      const head = await page.evaluate(() => {
        const packets = /** @type {any} */ (document.querySelector('servent-lab')).session.run.source.exportPcapng();
        return { magic: [...packets.slice(0, 4)], length: packets.length };
      });
      assert.deepEqual(head.magic, [0x0a, 0x0d, 0x0d, 0x0a]);
      assert.ok(head.length > 1000);
    });
  });
}
