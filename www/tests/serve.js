/** A small static server over loopback, for the tests and for looking at the page. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const WWW = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** The built page when `SERVENT_PAGE` names it, else the sources. */
export const PAGE = process.env.SERVENT_PAGE ?? WWW;

const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };

/**
 * @param {{root?: string, pkg?: string, extra?: (req: any, res: any) => boolean}} [how] `pkg` stands in for the folder of the WebAssembly
 * @returns {Promise<{url: string, requests: string[], close: () => void}>}
 */
export function serve({ root = PAGE, pkg, extra } = {}) {
  const requests = /** @type {string[]} */ ([]);
  const server = createServer(async (req, res) => {
    if (extra?.(req, res)) return;
    const name = decodeURIComponent(new URL(req.url ?? '/', 'http://x').pathname);
    requests.push(name);
    const file = pkg && name.startsWith('/pkg/') ? path.join(pkg, name.slice(5)) : path.join(root, name === '/' ? 'index.html' : name);
    const found = file.startsWith(root) || (pkg && file.startsWith(pkg)) ? await stat(file).catch(() => null) : null;
    if (!found?.isFile()) {
      res.writeHead(404).end();
      return;
    }
    res.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream', 'cache-control': 'no-store' });
    createReadStream(file).pipe(res);
  });
  return new Promise((resolve) => {
    server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      resolve({ url: `http://127.0.0.1:${port}/`, requests, close: () => server.close() });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serve({ pkg: process.env.SERVENT_PKG });
  console.log(url);
}
