/** WebKit as a browser that opens pages; its first window stays, because the session ends with the last. */
import { WebKitPage } from './page.js';
import { place, session } from './session.js';

/** @param {string} nothing the address of an empty document */
export async function launch(nothing) {
  const started = await session();
  const newPage = async () => {
    const { handle } = await started.ask(started.first, '/window/new', 'POST', { type: 'window' });
    await started.ask(handle, '/window/rect', 'POST', place(1280, 820));
    const page = new WebKitPage(started, handle);
    // There a page has no storage.
    await page.goto(nothing);
    return page;
  };
  return { browser: { newPage }, end: started.end };
}
