/** The page in the third engine: WebKit, as WebKitGTK has it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { inNode } from '../digest.js';
import { serve } from '../serve.js';
import { missing, startWebKit } from '../webkit.js';

const STORIES = { queue: 'one-cut-wire', routing: 'round-and-back', unicast: 'lose-middle', swarm: 'two-for-one' };

describe('webkit', { skip: missing() || false }, () => {
  /** @type {Awaited<ReturnType<typeof startWebKit>>} */
  let web;
  /** @type {Awaited<ReturnType<typeof serve>>} */
  let server;
  before(async () => {
    server = await serve();
    web = await startWebKit();
  });
  after(async () => {
    await web?.close();
    server.close();
  });

  /** @param {string} hash */
  async function open(hash) {
    await web.go('about:blank');
    await web.go(`${server.url}${hash}`);
    await web.wait((session) => Boolean(session?.run && document.querySelector('.transport')));
  }

  for (const [view, story] of Object.entries(STORIES)) {
    test(`${view}: a story runs to the state that it has everywhere`, async () => {
      await open(`#1/${view}?p=${story}&t=0`);
      const here = await web.within((session) => {
        const to = Math.floor(session.run.horizon / 2);
        for (const run of session.runs()) run.raw.seek(to);
        return { at: to, digest: session.run.digest, scenario: session.run.scenario };
      });
      const core = /** @type {any} */ (await inNode());
      const run = core.World.fromScenario(view, here.scenario).run();
      run.seek(here.at);
      assert.equal(here.digest, run.digest());
    });
  }

  test('it plays, pauses, and steps to and fro', async () => {
    await open('#1/queue?p=one-cut-wire&t=30000');
    await web.click('[data-do="play"]');
    await web.wait((session) => session.run.now > 31e6);
    await web.click('[data-do="play"]');
    assert.equal(await web.within((session) => session.clock.playing), false);
    const [before, there, back] = await web.within((session) => {
      const now = () => `${session.run.index} ${session.run.digest}`;
      session.clock.step(-1);
      const seen = [now()];
      session.clock.step(1);
      seen.push(now());
      session.clock.step(-1);
      return [...seen, now()];
    });
    assert.notEqual(before, there);
    assert.equal(before, back);
  });

  test('a wire is cut: a branch, and a sentence', async () => {
    await open('#1/queue?p=one-cut-wire&t=20000');
    await web.wait((session) => session.run.explored);
    await web.click('.lane[data-lane="sync"] .card-main');
    await web.wait(() => Boolean(document.querySelector('.gestures [data-gesture="cut"]')));
    await web.click('.gestures [data-gesture="cut"]');
    assert.equal(await web.within((session) => session.run.branches().length), 2);
    assert.match(await web.within(() => document.querySelector('.notice')?.textContent ?? ''), /branch/);
  });

  test('a lesson is answered, and the core says what it is worth', async () => {
    await open('#1/queue?les=cut-the-wire/2');
    await web.wait(() => document.querySelectorAll('.lesson-choice').length === 4);
    await web.click('.lesson-choice:nth-of-type(2) input');
    await web.click('[data-lesson="commit"]');
    await web.wait(() => /** @type {any} */ (document.querySelector('servent-lab')).room.answers.get(1)?.verdict.right === true);
  });

  test('nothing lies over Play, and the picture has its share', async () => {
    await open('#1/swarm?p=two-for-one&t=5000');
    const { play, share } = await web.within(() => {
      const node = /** @type {Element} */ (document.querySelector('[data-do="play"]'));
      const { left, top, width, height } = node.getBoundingClientRect();
      const at = document.elementFromPoint(left + width / 2, top + height / 2);
      const picture = /** @type {Element} */ (document.querySelector('.swarm-body')).getBoundingClientRect();
      return { play: node === at || node.contains(at), share: picture.height / innerHeight };
    });
    assert.ok(play);
    assert.ok(share > 0.5, String(share));
  });
});
