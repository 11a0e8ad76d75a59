/** A learning platform for the tests: it serves a SCORM 1.2 package in a frame, and keeps what it is told as the standard says. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { inflateRawSync } from 'node:zlib';

const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.wasm': 'application/wasm', '.toml': 'text/plain', '.xml': 'text/xml' };

/** The files of an archive, by its directory at the end. @param {string} file */
export function unzipped(file) {
  const all = readFileSync(file);
  const end = all.lastIndexOf('PK\x05\x06');
  const files = /** @type {Map<string, Buffer>} */ (new Map());
  for (let at = all.readUInt32LE(end + 16), left = all.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [name, from] = [all.readUInt16LE(at + 28), all.readUInt32LE(at + 42)];
    const start = from + 30 + name;
    files.set(all.toString('utf8', at + 46, at + 46 + name), inflateRawSync(all.subarray(start, start + all.readUInt32LE(at + 20))));
    at += 46 + name;
  }
  return files;
}

/** The platform's own page: the frame with the lesson, and the object that it looks for. @param {string} start */
const around = (start) => `<!doctype html><meta charset="utf-8"><title>LMS</title><style>iframe { width: 100%; height: 94vh; border: 0 }</style>
<script>
  // What SCORM 1.2 lets a lesson read and write.
  const READ = ['cmi.core.lesson_location', 'cmi.core.lesson_status', 'cmi.suspend_data', 'cmi.core.score.raw'];
  const WRITE = { 'cmi.core.lesson_location': /^.{0,255}$/, 'cmi.core.lesson_status': /^(passed|completed|failed|incomplete|browsed)$/, 'cmi.suspend_data': /^[^]{0,4096}$/, 'cmi.core.score.raw': /^(\\d{1,2}|100)$/, 'cmi.core.score.min': /^0$/, 'cmi.core.score.max': /^100$/, 'cmi.core.session_time': /^\\d{2,4}:\\d\\d:\\d\\d(\\.\\d{1,2})?$/ };
  const kept = JSON.parse(localStorage.getItem('kept') ?? '{"cmi.core.lesson_status":"not attempted"}');
  window.faults = [];
  let state = 'before';
  const when = (wanted, what) => { if (state !== wanted) faults.push(what + ' ' + state + ' the session'); };
  window.API = {
    LMSInitialize: () => { when('before', 'LMSInitialize'); state = 'in'; return 'true'; },
    LMSGetValue: (name) => { when('in', name); if (!READ.includes(name)) faults.push(name + ' is not read'); return kept[name] ?? ''; },
    LMSSetValue: (name, value) => { when('in', name); if (typeof value !== 'string' || !WRITE[name]?.test(value)) faults.push(name + ' is not ' + value); kept[name] = value; return 'true'; },
    LMSCommit: () => { when('in', 'LMSCommit'); localStorage.setItem('kept', JSON.stringify(kept)); return 'true'; },
    LMSFinish: () => { when('in', 'LMSFinish'); state = 'after'; localStorage.setItem('kept', JSON.stringify(kept)); localStorage.setItem('faults', JSON.stringify(faults)); return 'true'; },
  };
</script><iframe src="${start}"></iframe>`;

/** @param {Map<string, Buffer>} files of a package @returns {Promise<{url: string, close: () => void}>} */
export function platform(files) {
  const manifest = String(files.get('imsmanifest.xml'));
  const start = /<resource [^>]*href="([^"]*)"/.exec(manifest)?.[1] ?? '';
  const server = createServer((req, res) => {
    const name = decodeURIComponent(new URL(req.url ?? '/', 'http://x').pathname).slice(1);
    const body = name === '' ? around(`package/${start}`) : files.get(name.replace(/^package\//, ''));
    if (body === undefined) return void res.writeHead(404, { 'content-type': 'text/html' }).end('none');
    res.writeHead(200, { 'content-type': TYPES[/** @type {keyof TYPES} */ (path.extname(name || '.html') || '.html')] ?? 'application/octet-stream' }).end(body);
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      resolve({ url: `http://127.0.0.1:${port}/`, close: () => { server.close(); server.closeAllConnections(); } });
    });
  });
}
