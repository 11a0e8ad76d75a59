/**
 * Draws the README's pictures of the views as they are today: `npm run
 * pictures` leaves them in `docs/`, after `cargo xtask page`.
 */
import path from 'node:path';
import { frame, open, start } from './browser.js';
import { WWW } from './serve.js';

/** A picture, and the moment that it shows. */
const PICTURES = {
  queue: '#1/queue?p=rush-hour&t=600000',
  routing: '#1/routing?p=cycles&t=1250',
  unicast: '#1/unicast?m=compare&p=five-percent&t=900',
  swarm: '#1/swarm?m=compare&p=deadlock&t=60000',
};
/** What is known of the future is drawn a few times a second. */
const SETTLED_MS = 400;

const started = await start('chromium');
try {
  for (const [name, hash] of Object.entries(PICTURES)) {
    const { page } = await open(started, hash);
    await page.evaluate(async () => {
      document.querySelector('.hint')?.remove();
      document.querySelector('.notice button')?.dispatchEvent(new MouseEvent('click'));
      const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
      session.clock.pause();
      while (!session.runs().every((/** @type {any} */ run) => run.explore(50))) await new Promise(requestAnimationFrame);
      session.clock.touch();
    });
    await new Promise((done) => { setTimeout(done, SETTLED_MS); });
    await frame(page);
    await page.screenshot({ path: /** @type {`${string}.png`} */ (path.join(WWW, '..', 'docs', `${name}.png`)) });
    await page.close();
  }
} finally {
  await started.close();
}
