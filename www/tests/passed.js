/** A reporter for the tests of several files that run one after the other: the files that passed to their end, a line each. */
import path from 'node:path';

/** @param {AsyncIterable<any>} events */
export default async function* passed(events) {
  let now = '';
  let well = false;
  for await (const { type, data } of events) {
    if (!data.file || data.nesting !== 0 || !['test:pass', 'test:fail'].includes(type)) continue;
    const file = path.relative(process.cwd(), data.file);
    // With the first test of the next file this one has ended.
    if (file !== now) {
      if (now && well) yield `${now}\n`;
      now = file;
      well = true;
    }
    well &&= type === 'test:pass';
  }
}
