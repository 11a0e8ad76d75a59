/** A reporter for the tests of several files: the files in which one failed, a line each. */
import path from 'node:path';

/** @param {AsyncIterable<any>} events */
export default async function* failed(events) {
  const named = new Set();
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || !data.file || named.has(data.file)) continue;
    named.add(data.file);
    yield `${path.relative(process.cwd(), data.file)}\n`;
  }
}
