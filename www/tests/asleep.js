/** Pages that sleep, and pages behind a wire of their own: see `wire.js`. */

/** What a page does before anything else: it speaks to the servent at that port, and while it sleeps its timers ring once a minute, as those of a page that is out of sight. @param {number} port @param {number} minute */
export function far(port, minute) {
  const { fetch: get, setTimeout: set } = window;
  window.fetch = async (where, how) => {
    const answer = await get(where, how);
    return String(where).endsWith('api/part') ? new Response(JSON.stringify({ ...await answer.json(), port })) : answer;
  };
  const slow = /** @type {any} */ (window);
  slow.setTimeout = (/** @type {any} */ then, /** @type {number} */ ms = 0) => set(then, slow.asleep ? Math.ceil((Date.now() + ms) / minute) * minute - Date.now() : ms);
}

/** Puts a page to sleep, and wakes it: frozen by its browser, which closes its sockets itself; or with timers that ring rarely, and sockets that seem open. @param {any} page @param {boolean} frozen @param {() => Promise<void>} meanwhile */
export async function asleep(page, frozen, meanwhile) {
  const session = frozen ? await page.createCDPSession() : null;
  await page.evaluate(() => { /** @type {any} */ (window).asleep = true; });
  await session?.send('Page.setWebLifecycleState', { state: 'frozen' });
  await meanwhile();
  await session?.send('Page.setWebLifecycleState', { state: 'active' });
  await page.evaluate(() => {
    /** @type {any} */ (window).asleep = false;
    document.dispatchEvent(new Event('visibilitychange'));
  });
}
