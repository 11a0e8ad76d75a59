// Plays a story in a browser without a GPU and counts the frames it draws.
// Arguments: the folder of the page's tests, the browser, a fragment, seconds,
// the speed.
// Prints `{frames, seconds, longest}`, the last in milliseconds.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [tests, name, fragment, seconds, speed] = process.argv.slice(2);
const { open, start } = await import(pathToFileURL(path.join(tests, 'browser.js')).href);
const started = await start(name);
try {
  const { page } = await open(started, fragment);
  const found = await page.evaluate(async (wanted, pace) => {
    const { session } = document.querySelector('servent-lab');
    // What is to come is found out before, as it is for a person who has looked for a moment.
    for (const run of session.runs()) for (let i = 0; i < 40 && !run.explore(50); i += 1) await new Promise((done) => setTimeout(done));
    session.speed = pace;
    session.play();
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    // Code is compiled and fonts are drawn in the first frames.
    for (let i = 0; i < 30; i += 1) await frame();
    const times = [await frame()];
    while (times.at(-1) - times[0] < wanted * 1000 && session.playing) times.push(await frame());
    const gaps = times.slice(1).map((at, i) => at - times[i]);
    return { frames: gaps.length, seconds: (times.at(-1) - times[0]) / 1000, longest: Math.max(...gaps), played: session.run.now };
  }, Number(seconds), Number(speed));
  console.log(JSON.stringify(found));
} finally {
  await started.close();
}
