/** A small static server over loopback, for the tests and for looking at the page. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const WWW = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };

/**
 * @param {{root?: string, extra?: (req: any, res: any) => boolean, lasting?: boolean, head?: () => string}} [how] `lasting`: as long as the process; `head`: what each document begins with
 * @returns {Promise<{url: string, requests: string[], close: () => void}>}
 */
export function serve({ root = WWW, extra, lasting = false, head } = {}) {
  const requests = /** @type {string[]} */ ([]);
  const server = createServer(async (req, res) => {
    if (extra?.(req, res)) return;
    const name = decodeURIComponent(new URL(req.url ?? '/', 'http://x').pathname);
    // No test has asked for what the worker keeps ahead of time.
    if (req.headers['sec-fetch-dest'] !== 'empty') requests.push(name);
    const file = path.join(root, name === '/' ? 'index.html' : name);
    const found = file.startsWith(root) ? await stat(file).catch(() => null) : null;
    if (!found?.isFile()) {
      res.writeHead(404).end();
      return;
    }
    if (head && path.extname(file) === '.html') {
      const text = await readFile(file, 'utf8');
      res.writeHead(200, { 'content-type': TYPES['.html'], 'cache-control': 'no-store' }).end(text.replace('<head>', () => `<head>${head()}`));
      return;
    }
    // Each browser is new: what it has of this server, it has since this test began.
    res.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream', 'cache-control': 'max-age=3600' });
    createReadStream(file).pipe(res);
  });
  return new Promise((resolve) => {
    if (lasting) server.unref();
    server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      resolve({ url: `http://127.0.0.1:${port}/`, requests, close: () => { server.close(); server.closeAllConnections(); } });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serve();
  console.log(url);
}
