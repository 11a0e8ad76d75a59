/** What was done can be taken back, done again, moved in time and left out; the world runs again from there. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, open, start, state } from '../browser.js';

/** @param {import('puppeteer-core').Page} page @param {(session: any, ...args: any[]) => any} work @param {...any} args */
const within = (page, work, ...args) => page.evaluate(`(${work})(document.querySelector('servent-lab').session, ...${JSON.stringify(args)})`);

/** @param {import('puppeteer-core').Page} page */
const explored = (page) => page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.runs().every((/** @type {any} */ run) => run.explored));

/** Kills a client at an instant, and waits until what follows is known. @param {import('puppeteer-core').Page} page @param {number} at @param {number} node */
async function kill(page, at, node) {
  await within(page, (session, when, id) => {
    session.clock.seek(when);
    session.actions.gesture('crash', { node: id, ticket: null, name: session.run.node(id).name });
  }, at, node);
  await explored(page);
}

/** Digest at the end of the branch in use. @param {import('puppeteer-core').Page} page */
async function ending(page) {
  await explored(page);
  const at = (await state(page)).now;
  await within(page, (session) => session.clock.seek(session.clock.end));
  const { digest } = await state(page);
  await within(page, (session, back) => session.clock.seek(back), at);
  return digest;
}

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('what was done is taken back and done again by the keys of every editor', async () => {
      const { page, complaints } = await open(started, '#1/queue?p=impatient&t=0');
      await explored(page);
      const untouched = await ending(page);
      await kill(page, 5e6, 1);
      const killed = await ending(page);
      assert.notEqual(killed, untouched);
      await page.keyboard.down('Control');
      await page.keyboard.press('z');
      await page.keyboard.up('Control');
      assert.deepEqual([(await state(page)).branches, (await state(page)).faults], [1, 0]);
      assert.equal(await ending(page), untouched);
      await page.keyboard.down('Control');
      await page.keyboard.press('y');
      await page.keyboard.up('Control');
      assert.deepEqual([(await state(page)).branches, (await state(page)).faults], [2, 1]);
      assert.equal(await ending(page), killed);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('one of several is moved in time or taken out, and the branches after it stay', async () => {
      const { page } = await open(started, '#1/queue?p=impatient&t=0');
      await explored(page);
      await kill(page, 4e6, 1);
      const alone = await ending(page);
      await kill(page, 8e6, 2);
      const both = await ending(page);
      await page.click('.transport .done');
      await page.waitForSelector('.done-list li:nth-child(2)');
      const names = await within(page, (session) => [1, 2].map((id) => session.run.node(id).name));
      assert.match(await page.$eval('.done-list', (n) => n.textContent ?? ''), new RegExp(names.join('.*')));
      const when = (/** @type {number} */ i, /** @type {string} */ seconds) => page.$eval(`.done-list li:nth-child(${i}) input`, (n, text) => {
        /** @type {HTMLInputElement} */ (n).value = text;
        n.dispatchEvent(new Event('change'));
      }, seconds);
      await when(2, '9.5');
      assert.equal(await within(page, (session) => session.actions.faults()[1].at), 9.5e6);
      assert.notEqual(await ending(page), both);
      await when(2, '8');
      assert.equal(await ending(page), both, 'the same list, the same future');
      await page.click('.done-list li:nth-child(2) button');
      assert.equal((await page.$$('.done-list li')).length, 1);
      assert.equal(await ending(page), alone);
      await page.close();
    });

    test('what another branch came from can be left out of it', async () => {
      const { page } = await open(started, '#1/queue?p=impatient&t=0');
      await explored(page);
      await kill(page, 8e6, 2);
      const second = await ending(page);
      await within(page, (session) => session.actions.useBranch(0));
      await kill(page, 4e6, 1);
      await kill(page, 8e6, 2);
      assert.equal((await state(page)).branches, 4);
      await within(page, (session) => session.actions.change(session.actions.faults()[0], null));
      assert.equal(await ending(page), second);
      await page.close();
    });
  });
}
