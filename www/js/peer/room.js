/** `<room-screen>`: what the projector shows: the address to open, everybody who is here, and the queue. */
import { el, fill, icon, setAttr, setText, svg } from '#lab/dom.js';
import { hueOf, personOf } from '#lab/peer/names.js';
import { t } from '#lab/strings.js';

/** Asked so often, in milliseconds. */
const ASK_MS = 1000;
/** Everybody stands on rings around the servent: so many on the first, and so many more on each further one. */
const RING = [10, 8];
/** Radius of the first ring, and how far the next is; the picture is 200 wide. */
const RADIUS = [46, 26];

/** A QR code as one path. @param {string[]} rows */
function code(rows) {
  const path = rows.flatMap((row, y) => [...row].map((dark, x) => (dark === '1' ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  const size = rows.length + 8;
  return svg('svg', { viewBox: `-4 -4 ${size} ${size}`, role: 'img', 'aria-label': 'QR code', 'shape-rendering': 'crispEdges' }, svg('rect', { x: -4, y: -4, width: size, height: size, fill: '#fff' }), svg('path', { d: path, fill: '#000' }));
}

/** Where the one with this number stands. @param {number} n @param {number} of */
function spot(n, of) {
  let [ring, first, room] = [0, 0, RING[0]];
  while (n >= first + room) [ring, first, room] = [ring + 1, first + room, room + RING[1]];
  const here = Math.min(room, of - first);
  const angle = ((n - first) / here) * 2 * Math.PI - Math.PI / 2 + ring * 0.3;
  const radius = RADIUS[0] + ring * RADIUS[1];
  return [100 + radius * Math.cos(angle), 100 + radius * Math.sin(angle)];
}

class RoomScreen extends HTMLElement {
  map = svg('svg', { viewBox: '0 0 200 200', class: 'room-map', role: 'img' });

  connectedCallback() {
    if (this.shown) return;
    this.address = el('p', { class: 'room-address' });
    this.code = el('div', { class: 'room-code' });
    this.people = el('h2');
    this.queue = el('p', { class: 'room-queue', role: 'status' });
    this.relayed = el('p', { class: 'room-queue', hidden: true });
    fill(this,
      el('header', { class: 'part-head' }, el('h1', { class: 'brand' }, icon('logo'), t('room.title')), el('span', { class: 'spring' }), el('button', { class: 'button', type: 'button', text: t('app.title'), on: { click: () => this.dispatchEvent(new CustomEvent('leave', { detail: null })) } })),
      el('main', {}, el('div', { class: 'room-way' }, el('p', { text: t('room.open') }), this.code, this.address), el('div', { class: 'room-here' }, this.people, this.map, this.queue, this.relayed)));
    this.shown = true;
    this.#ask();
  }
  shown = false;

  async #ask() {
    if (!this.hidden) await this.#show();
    setTimeout(() => this.#ask(), ASK_MS);
  }

  async #show() {
    const answer = await fetch('api/room').catch(() => null);
    if (!answer?.ok) return void setText(this.queue, t(answer?.status === 403 ? 'room.locked' : 'room.gone'));
    const { url, code: rows, people, view, relayed } = await answer.json();
    // Nobody types what every browser adds.
    const shown = url?.replace(/^http:\/\/|\/$/g, '') ?? '';
    if (rows && this.address.textContent !== shown) {
      setText(this.address, shown);
      this.code.replaceChildren(code(rows));
    }
    const { uploads, length } = view.queue;
    setText(this.people, t('room.people', { n: people.length }));
    setText(this.queue, t('room.queue', { uploads: uploads.length, waiting: length }));
    this.relayed.hidden = !relayed?.bytes;
    if (relayed) setText(this.relayed, t('room.relayed', relayed));
    setAttr(this.map, 'aria-label', t('room.people', { n: people.length }));
    this.#draw(people, new Set(uploads.map((/** @type {any} */ card) => host(card.peer))));
    return undefined;
  }

  /** @param {{peer: string, agent: string}[]} people @param {Set<string>} busy */
  #draw(people, busy) {
    const lines = people.map((_, n) => svg('line', { x1: 100, y1: 100, x2: spot(n, people.length)[0], y2: spot(n, people.length)[1], class: 'room-link' }));
    const all = people.map(({ peer, agent }, n) => {
      const [x, y] = spot(n, people.length);
      const name = personOf(agent) ?? peer;
      const words = name.split(' ');
      const one = svg('g', { transform: `translate(${x} ${y})`, class: busy.has(host(peer)) ? 'room-one busy' : 'room-one' },
        svg('circle', { r: 7 }), ...words.slice(0, 2).map((word, i) => svg('text', { y: 11.5 + i * 4.6 }, word)));
      one.style.setProperty('--hue', String(hueOf(name)));
      return one;
    });
    this.map.replaceChildren(...lines, svg('g', { transform: 'translate(100 100)', class: 'room-servent' }, svg('circle', { r: 10 })), ...all);
  }
}

/** @param {string} address */
const host = (address) => address.slice(0, address.lastIndexOf(':'));

customElements.define('room-screen', RoomScreen);
