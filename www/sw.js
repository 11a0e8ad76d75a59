/**
 * Keeps a hosted copy of the page for times without a network. What the server
 * has is always preferred, so nothing is ever out of date; what was kept is
 * used when the server does not answer.
 *
 * `pkg/build.js` names the files of this build and their version; another
 * build is another version of this worker, which keeps its own files and
 * removes those of the builds before.
 */
importScripts('pkg/build.js');

const { version, files } = self.BUILD;
const FAMILY = 'servent-lab-';
const OURS = FAMILY + version;

self.addEventListener('install', (event) => event.waitUntil(keep()));
self.addEventListener('activate', (event) => event.waitUntil(forget()));
self.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  if (method === 'GET' && url.startsWith(self.registration.scope)) event.respondWith(answer(event.request));
});

async function keep() {
  const cache = await caches.open(OURS);
  // What the browser has kept by itself may belong to another build.
  await cache.addAll(files.map((file) => new Request(file, { cache: 'no-cache' })));
  await self.skipWaiting();
}

async function forget() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(FAMILY) && name !== OURS).map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function answer(request) {
  try {
    return await fetch(request);
  } catch (why) {
    const cache = await caches.open(OURS);
    const kept = await cache.match(request, { ignoreSearch: true }) ?? (request.mode === 'navigate' ? await cache.match('./') : undefined);
    if (kept) return kept;
    throw why;
  }
}
