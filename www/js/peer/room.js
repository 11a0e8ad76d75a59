/** `<room-screen>`: what the projector shows: the address to open, the people who are here, and the queue. */
import { el, fill, icon, setAttr, setText, svg } from '#lab/dom.js';
import { load } from '#lab/core.js';
import { marked } from '#lab/lesson/marks.js';
import { Again } from '#lab/peer/again.js';
import { hueOf } from '#lab/peer/names.js';
import { present } from '#lab/peer/present.js';
import { lessonOf, paragraphs, tallies } from '#lab/peer/steps.js';
import { t } from '#lab/strings.js';

/** Asked so often, in milliseconds. */
const ASK_MS = 1000;
/** People stand on rings around the servent: so many on the first, and so many more on each further one. */
const RING = [10, 8];
/** What is told is never smaller than this part of its size, and is made smaller in these steps. */
const [LEAST, STEP] = [0.55, 0.05];
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
    this.secret = el('p', { class: 'room-secret', hidden: true });
    this.front = el('section', { class: 'room-front', hidden: true, 'aria-live': 'polite' });
    load().then(() => { this.ready = true; });
    this.people = el('h2');
    this.queue = el('p', { class: 'room-queue', role: 'status' });
    this.relayed = el('p', { class: 'room-queue', hidden: true });
    fill(this,
      el('header', { class: 'part-head' }, el('h1', { class: 'brand' }, icon('logo'), t('room.title')), el('span', { class: 'spring' }), el('button', { class: 'button', type: 'button', text: t('app.title'), on: { click: () => this.dispatchEvent(new CustomEvent('leave', { detail: null })) } })),
      el('main', {}, el('div', { class: 'room-way' }, el('p', { text: t('room.open') }), this.code, this.address, this.secret), this.front, el('div', { class: 'room-here' }, this.people, this.map, this.queue, this.relayed)));
    this.shown = true;
    new ResizeObserver(() => this.#fit()).observe(this);
    this.#ask();
  }
  shown = false;
  again = new Again(ASK_MS);
  ready = false;
  fronted = '';

  async #ask() {
    if (!this.hidden) await this.#show();
    setTimeout(() => this.#ask(), this.again.wait);
  }

  async #show() {
    const answer = await fetch('api/room').catch(() => null);
    if (!answer?.ok) {
      this.again.after(false);
      setText(this.queue, answer?.status === 403 ? t('room.locked') : t('room.gone', { seconds: this.again.seconds }));
      return;
    }
    this.again.after(true);
    const { url, code: rows, people, view, relayed, secret, projected, class: told } = await answer.json();
    setText(this.secret, secret ? t('room.code', { code: secret }) : '');
    this.secret.hidden = !secret;
    this.#showFront(projected);
    // A person does not type what every browser adds.
    const shown = url?.replace(/^http:\/\/|\/$/g, '') ?? '';
    if (rows && this.address.textContent !== shown) {
      setText(this.address, shown);
      this.code.replaceChildren(code(rows));
    }
    const { uploads, length } = view.queue;
    const here = present(people, told.pages);
    setText(this.people, t('room.people', { n: here.length }));
    setText(this.queue, t('room.queue', { uploads: uploads.length, waiting: length }));
    this.relayed.hidden = !relayed?.bytes;
    if (relayed) setText(this.relayed, t('room.relayed', relayed));
    setAttr(this.map, 'aria-label', t('room.people', { n: here.length }));
    this.#draw(here, new Set(uploads.map((/** @type {any} */ card) => host(card.peer))));
  }

  /** A lesson, or one page shown to all, stands before the map. @param {{lesson: any, mirror: any}} projected */
  #showFront(projected) {
    const { lesson: going, mirror } = projected;
    const shown = JSON.stringify(projected);
    if (!this.ready || shown === this.fronted) return;
    this.fronted = shown;
    this.front.hidden = !going && !mirror;
    setAttr(this, 'data-front', !this.front.hidden && '');
    if (mirror) fill(this.front, ...mirrored(mirror));
    else if (going) this.#tell(going);
    this.#fit();
  }

  /** On a wall nothing is scrolled: what is told is as large as it has room for. */
  #fit() {
    const { front } = this;
    if (front.hidden) return;
    const isTooHigh = () => front.scrollHeight > front.clientHeight + 1;
    for (let part = 1; part >= LEAST; part -= STEP) {
      front.style.setProperty('--fit', part.toFixed(2));
      if (!isTooHigh()) break;
    }
    // What has no room even so can be scrolled by keys.
    setAttr(front, 'tabindex', isTooHigh() ? '0' : null);
  }

  /** @param {import('./steps.js').Going} going */
  #tell(going) {
    const lesson = lessonOf(going.id);
    if (!lesson) return;
    const { step } = going;
    const one = lesson.steps[step];
    const tells = ['reveal', 'explain', 'debrief'].includes(one.do);
    fill(this.front, el('p', { class: 'class-name' }, el('strong', { text: lesson.title }), ` ${t('lesson.step', { n: step + 1, of: lesson.steps.length })}`), el('h2', { text: t(`class.${one.do}`) }), ...(one.do === 'explain' ? [] : paragraphs(one.text)),
      one.choices.length ? el('ol', { class: 'room-choices' }, ...one.choices.map((/** @type {any} */ choice) => el('li', {}, ...marked(choice.text)))) : null,
      ...(tells ? tallies(lesson, going, step) : []), one.do === 'explain' ? el('p', { class: 'class-concept' }, ...marked(lesson.concept)) : null);
  }

  /** A page that has no link with the servent stands there without one. @param {import('./present.js').Present[]} people @param {Set<string>} busy */
  #draw(people, busy) {
    const lines = people.flatMap(({ linked }, n) => (linked ? [svg('line', { x1: 100, y1: 100, x2: spot(n, people.length)[0], y2: spot(n, people.length)[1], class: 'room-link' })] : []));
    const all = people.map(({ peer, name }, n) => {
      const [x, y] = spot(n, people.length);
      const words = name.split(' ').slice(0, 2);
      // A name stands on the side where no link goes to the middle.
      const top = y < 100 ? -9 - (words.length - 1) * 4.6 : 11.5;
      const one = svg('g', { transform: `translate(${x} ${y})`, class: busy.has(host(peer)) ? 'room-one busy' : 'room-one' },
        svg('circle', { r: 7 }), ...words.map((word, i) => svg('text', { y: top + i * 4.6 }, word)));
      one.style.setProperty('--hue', String(hueOf(name)));
      return one;
    });
    this.map.replaceChildren(...lines, svg('g', { transform: 'translate(100 100)', class: 'room-servent' }, svg('circle', { r: 10 })), ...all);
  }
}

/** What a page shows, shown to all. @param {{name: string, shows: any}} page */
function mirrored({ name, shows }) {
  const sections = (shows?.sections ?? []).filter((/** @type {any} */ one) => one.rows.length);
  return [el('h2', { text: t('room.mirror', { name }) }), el('p', { text: shows?.state ?? '' }),
    ...sections.map((/** @type {any} */ one) => el('div', { class: 'room-mirror' }, el('h3', { text: one.title }), el('ul', { class: 'part-list' }, ...one.rows.map((/** @type {any} */ row) => el('li', {}, el('span', { class: 'part-words' }, el('b', { text: row.name }), el('small', { text: row.note })))))))];
}

/** @param {string} address */
const host = (address) => address.slice(0, address.lastIndexOf(':'));

customElements.define('room-screen', RoomScreen);
