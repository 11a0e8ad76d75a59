/** A reporter for the tests of several files: how long each test took, the longest first, and each file. */
import path from 'node:path';

/** @param {number} ms @param {string} what */
const line = (ms, what) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${what}\n`;

/** @param {AsyncIterable<any>} events */
export default async function* times(events) {
  const tests = /** @type {[number, string][]} */ ([]);
  const files = /** @type {Record<string, number>} */ ({});
  for await (const { type, data } of events) {
    if (!['test:pass', 'test:fail'].includes(type) || !data.file) continue;
    const file = path.basename(data.file);
    const ms = data.details.duration_ms;
    if (data.nesting === 0) files[file] = (files[file] ?? 0) + ms;
    if (data.details.type !== 'suite') tests.push([ms, `${file}: ${data.name}`]);
  }
  for (const [file, ms] of Object.entries(files).sort(([, a], [, b]) => b - a)) yield line(ms, file);
  yield '\n';
  for (const [ms, name] of tests.sort(([a], [b]) => b - a)) yield line(ms, name);
}
