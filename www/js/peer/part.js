/** `<part-screen>`: a servent in this page, and what its person does with it. */
import { Peer } from '#servent';
import { load } from '#lab/core.js';
import { el, fill, icon, setAttr, setText } from '#lab/dom.js';
import { bytes } from '#lab/format.js';
import { info } from '#lab/open/live.js';
import { openDoor } from '#lab/peer/door.js';
import { SPINS, drawLine, hueOf, isPage, nameMe, personOf, spell } from '#lab/peer/names.js';
import { CheckPanel } from '#lab/peer/check.js';
import { ClassPanel } from '#lab/peer/class.js';
import { Handing } from '#lab/peer/handing.js';
import { Pulse } from '#lab/peer/pulse.js';
import { Rows } from '#lab/peer/rows.js';
import { t } from '#lab/strings.js';

/** The screen changes at most so often, in milliseconds; times on it go on by themselves. */
const SHOW_MS = 200;
const TICK_MS = 1000;
/** Rows of each list that all see while this page is shown to them. */
const MIRRORED = 12;
/** Places of the own queue that are shown. */
const PLACES = 20;

/** @typedef {{search: number, name: string, size: number, sha1: string|null, push: boolean, at: string, number: number}} Hit */
/** @typedef {{key: string, name: string, size: number, hits: Hit[]}} Found */

/** Names drawn until one is free: with thirty pages two of the same name are no rarity, and the host who cuts one off would cut both. */
const DRAWS = 8;

/** A name that no other page in the room has. */
async function freeName() {
  let name = nameMe();
  for (let draws = 1; draws < DRAWS; draws += 1) {
    const { taken } = await (await fetch(`api/part?name=${encodeURIComponent(name)}`)).json();
    if (!taken) break;
    name = nameMe();
  }
  return name;
}

class PartScreen extends HTMLElement {
  /** @type {Peer|null} */ peer = null;
  /** @type {Map<string, Found>} */ found = new Map();
  /** @type {Record<string, Rows>} */ lists = {};
  search = 0;
  hits = 0;

  async connectedCallback() {
    if (this.peer || this.begun) return;
    this.begun = true;
    this.#build();
    try {
      const [about] = await Promise.all([info(), load()]);
      if (!about?.part) return void this.#say(t('part.alone'));
      await this.#start(await (await fetch('api/part')).json());
    } catch (why) {
      this.#say(t('part.failed', { why: why instanceof Error ? why.message : String(why) }), true);
      throw why;
    }
  }
  begun = false;

  /** @param {{port: number, own: string[], rules?: {slots: number, degree: number, ttl: number}, recorded?: boolean, loss?: number, frozen?: boolean, given?: boolean, cut?: string[], apart?: [string, string][], typed?: boolean, code?: boolean, room?: boolean, check?: boolean}} where */
  async #start({ port, own, rules, recorded, loss, frozen, given, cut, apart, typed, code, room, check }) {
    const door = await openDoor(() => this.#moved());
    if (this.gone) return;
    const [rows, files] = [door.rows, await door.files()];
    this.door = door;
    if (given) this.#onlyGiven(files);
    const kept = Object.fromEntries(rows);
    this.named = kept.me ? JSON.parse(kept.me) : { name: await freeName(), spins: SPINS };
    const line = this.named.line ??= drawLine();
    this.ws = location.protocol === 'https:' ? `wss://${location.host}/servent` : `ws://${location.hostname}:${port}/servent`;
    if (code) this.named.code = await this.#askCode(this.named.code);
    await this.#remember();
    const url = this.#url();
    const seed = String(crypto.getRandomValues(new BigUint64Array(1))[0]);
    // The servent tells a page the address it has in the network, for channels to other pages.
    const stun = `stun:${location.hostname}:${port}`;
    this.peer = Peer.start({ name: this.named.name, seed, own, url, line, rules, stun, rows }, files, door);
    if (door.room() < Number.MAX_VALUE) this.#say(t('part.memory'));
    door.changed = () => { this.timer ||= window.setTimeout(() => this.#show(), SHOW_MS); };
    door.said = (what, words) => this.#told(what, words);
    this.handing = new Handing(this.peer, line, (on) => { this.recorded.hidden = !on; });
    if (recorded) this.handing.begin();
    if (loss) this.#lose(loss);
    if (frozen) this.#freeze(true);
    if (cut?.includes(this.named.name)) this.#cut(true);
    for (const pair of apart ?? []) this.#apart(pair, true);
    this.#typed(typed ?? false);
    if (check) this.#check();
    if (room) this.pulse = new Pulse(this.peer, line, () => this.#about(), (answer) => this.#heard(answer), (seconds) => this.#closed(seconds));
    addEventListener('pagehide', () => {
      this.handing?.last();
      this.pulse?.gone();
    });
    setInterval(() => { if (!this.hidden && document.visibilityState === 'visible') this.#show(); }, TICK_MS);
    // A tab that slept has missed its timers, and may find its sockets dead.
    const wakes = /** @type {[EventTarget, string][]} */ ([[document, 'visibilitychange'], [document, 'resume'], [window, 'pageshow'], [window, 'online']]);
    for (const [target, type] of wakes) target.addEventListener(type, () => { if (type === 'online' || document.visibilityState === 'visible') this.peer?.wake(); });
    this.#show();
    setAttr(this, 'data-ready', '');
  }
  timer = 0;

  #build() {
    const section = (/** @type {string} */ name, /** @type {(Node|null)[]} */ ...inside) => el('section', { class: `part-${name}`, 'aria-label': t(`part.${name}`) }, el('h2', { text: t(`part.${name}`) }), ...inside);
    const list = (/** @type {string} */ name) => el('ul', { class: 'part-list', data: { list: name } });
    this.words = el('input', { class: 'input', type: 'search', enterkeyhint: 'search', 'aria-label': t('part.search.words'), placeholder: t('part.search.words') });
    const form = el('form', { class: 'part-form', on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); this.#search(); } } }, this.words, el('button', { class: 'button primary', text: t('part.search') }));
    this.picker = el('input', { type: 'file', multiple: true, class: 'part-picker', 'aria-label': t('part.shares.add'), on: { change: () => { this.#share(this.picker.files); this.picker.value = ''; } } });
    this.drop = el('label', { class: 'part-drop' }, icon('open'), el('span', { text: t('part.shares.add') }), this.picker);
    this.spin = el('button', { class: 'button small', type: 'button', on: { click: () => this.#spin() } });
    this.state = el('p', { class: 'part-state', role: 'status' });
    this.note = el('p', { class: 'part-note', hidden: true });
    this.recorded = el('p', { class: 'part-recorded', hidden: true, role: 'status', text: t('part.recorded') });
    this.frozen = el('p', { class: 'part-recorded', hidden: true, role: 'status', text: t('part.frozen') });
    this.me = el('strong');
    this.name = el('input', { class: 'input', maxlength: '24', autocomplete: 'nickname', required: true, 'aria-label': t('part.name'), placeholder: t('part.name') });
    this.naming = el('form', { class: 'host-form part-naming', hidden: true, on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); this.#rename(spell(this.name.value)); } } }, this.name, el('button', { class: 'button', text: t('part.name.do') }));
    this.code = el('input', { class: 'input part-code', maxlength: '12', autocapitalize: 'characters', autocomplete: 'off', spellcheck: 'false', required: true, 'aria-label': t('part.code') });
    this.coding = el('form', { class: 'host-form part-coding', hidden: true }, this.code, el('button', { class: 'button primary', text: t('part.code.do') }));
    this.shown = el('p', { class: 'part-recorded', hidden: true, role: 'status', text: t('part.mirrored') });
    this.class = new ClassPanel(() => { this.pulse?.now(); });
    this.dot = el('span', { class: 'part-dot', 'aria-hidden': 'true' });
    this.lists = Object.fromEntries(['search', 'downloads', 'shares', 'queue', 'neighbours'].map((name) => [name, new Rows(list(name))]));
    const look = el('button', { class: 'button', type: 'button', title: t('part.look.text'), data: { do: 'look' }, text: t('part.look'), on: { click: () => this.leave(true) } });
    fill(this,
      el('header', { class: 'part-head' }, el('h1', { class: 'brand' }, icon('logo'), 'Servent'), el('div', { class: 'part-me' }, this.dot, this.me, this.spin), look),
      el('main', {},
        el('div', { class: 'part-lead' }, el('p', { text: t('part.intro') }), this.state, this.coding, this.naming, this.recorded, this.frozen, this.shown, this.note),
        this.class.node,
        section('search', form, this.lists.search.list),
        section('downloads', this.lists.downloads.list),
        section('shares', this.drop, this.lists.shares.list),
        section('queue', this.lists.queue.list),
        section('neighbours', this.lists.neighbours.list)));
    this.addEventListener('dragover', (e) => { e.preventDefault(); setAttr(this.drop, 'data-over', ''); });
    this.addEventListener('dragleave', () => setAttr(this.drop, 'data-over', null));
    this.addEventListener('drop', (e) => {
      e.preventDefault();
      e.stopPropagation();
      setAttr(this.drop, 'data-over', null);
      this.#share(e.dataTransfer?.files);
    });
  }

  /** @param {string} text */
  #say(text, bad = false) {
    setText(this.note, text);
    setAttr(this.note, 'role', bad ? 'alert' : null);
    this.note.hidden = false;
  }

  /** The host of the room says something. @param {string} what @param {string} words */
  #told(what, words) {
    if (what === 'SAY') this.#say(t('part.said', { words }));
    if (what === 'TAPE') words === 'off' ? this.handing?.end() : this.handing?.begin(Number(words) || 0);
    if (what === 'OUT') this.#say(t('part.out'), true);
    if (what === 'LOSS') this.#lose(Number(words) || 0);
    if (what === 'FREEZE') this.#freeze(words === 'on');
    if ((what === 'CUT' || what === 'MEND') && words === this.named.name) this.#cut(what === 'CUT');
    if (what === 'PART' || what === 'JOIN') this.#apart(words.split(' '), what === 'PART');
    if (what === 'MOVED') this.#moved();
    if (what === 'CLASS') this.pulse?.now();
    if (what === 'RESET') this.#reset();
    // With other rules it is another servent: it begins again, with its files and places.
    if (what === 'RULES') location.reload();
  }

  /** Only the host shares: what was shared here in another room is not, and nothing can be added. @param {unknown[]} files */
  #onlyGiven(files) {
    this.given = true;
    files.length = 0;
    this.drop.hidden = true;
  }
  given = false;

  /** So many of a thousand datagrams to other pages are lost from now on; which ones is drawn here. @param {number} loss */
  #lose(loss) { this.peer?.lose(loss, crypto.getRandomValues(new Uint32Array(1))[0]); }

  /** Nothing goes to and fro between this page and the servent of the room but what the host says. @param {boolean} off */
  #cut(off) {
    this.peer?.cut(off);
    this.#say(t(off ? 'part.cut' : 'part.mended'));
  }

  /** Two pages do not reach each other, or do again; this one may be one of them. @param {string[]} pages @param {boolean} off */
  #apart(pages, off) {
    const mine = pages.indexOf(this.named.line[0]);
    if (mine < 0 || pages.length !== 2) return;
    this.peer?.apart(pages[1 - mine], off);
    this.#say(t(off ? 'part.apart' : 'part.joined'));
  }

  /** No page does anything for now; what runs goes on. @param {boolean} on */
  #freeze(on) {
    if (this.gone) return;
    setAttr(this, 'data-frozen', on && '');
    this.frozen.hidden = !on;
    // Nothing on it takes the focus: the page itself does, so that it can be scrolled by keys.
    setAttr(/** @type {Element} */ (this.querySelector('main')), 'tabindex', on && '0');
    for (const part of this.querySelectorAll('main > section:not(.part-class)')) setAttr(part, 'inert', on && '');
  }

  /** Where the servent answers WebSockets, with the code of the room. */
  #url() { return `${this.ws}${this.named.code ? `/in/${this.named.code}` : ''}`; }
  ws = '';

  #remember() { return this.door?.save([['me', JSON.stringify(this.named)]]); }

  /** Asks until the code is right; one that was typed before may still be. @param {string|undefined} known @returns {Promise<string>} */
  async #askCode(known) {
    const opens = (/** @type {string} */ code) => new Promise((done) => {
      const socket = new WebSocket(`${this.ws}/in/${encodeURIComponent(code)}`, 'servent.1');
      socket.onopen = () => { socket.close(); done(true); };
      socket.onerror = () => done(false);
    });
    if (known && await opens(known)) return known;
    setText(this.state, t('part.code.text'));
    this.coding.hidden = false;
    setAttr(this, 'data-coding', '');
    this.code.focus();
    for (;;) {
      await new Promise((typed) => { this.coding.onsubmit = (/** @type {Event} */ e) => { e.preventDefault(); typed(null); }; });
      const code = this.code.value.replace(/[^\da-z]/gi, '').toUpperCase();
      if (code && await opens(code)) {
        this.coding.hidden = true;
        this.note.hidden = true;
        setAttr(this, 'data-coding', null);
        return code;
      }
      this.#say(t('part.code.wrong'), true);
      this.code.select();
    }
  }

  /** The network is tried, before a class comes. */
  #check() {
    const peer = /** @type {Peer} */ (this.peer);
    this.check = new CheckPanel(peer);
    this.class?.node.before(this.check.node);
    setInterval(() => {
      this.#hear();
      this.check?.look(peer.view(0));
    }, TICK_MS);
  }

  /** What the servent of the room is told of this page. */
  #about() { return { name: this.named.name, ...this.class?.about(), ...this.check?.about(), ...this.shown?.hidden ? {} : { shows: this.#shows() } }; }

  /** What this page shows, while all look at it. */
  #shows() {
    const sections = [...this.querySelectorAll('main > section:not(.part-class)')].map((section) => ({
      title: section.querySelector('h2')?.textContent ?? '',
      rows: [...section.querySelectorAll('.part-list > li:not(.part-empty)')].slice(0, MIRRORED).map((row) => ({ name: row.querySelector('b')?.textContent?.slice(0, 100), note: row.querySelector('small')?.textContent?.slice(0, 200) })),
    }));
    return { state: this.state.textContent, sections };
  }

  /** The room does not answer; said once more each time, until it does. @param {number} seconds until it is asked again */
  #closed(seconds) {
    if (this.gone) return;
    if (seconds) this.#say(t('part.closed', { seconds }), true);
    else if (this.closed) this.note.hidden = true;
    this.closed = seconds > 0;
  }
  closed = false;

  /** Where the class stands. @param {any} answer */
  #heard({ class: { mirrored, ...told }, code, typed }) {
    if (this.gone) return false;
    this.class?.hear(told);
    this.shown.hidden = !mirrored;
    this.#typed(typed);
    if (code !== null && code !== this.named.code) {
      this.named.code = code;
      this.#remember();
      this.peer?.at(this.#url());
    }
    return mirrored;
  }

  /** People may type their names here. @param {boolean} on */
  #typed(on) { this.naming.hidden = !on; }

  /** The host wants every page to begin as a new one. */
  async #reset() {
    this.gone = true;
    this.pulse?.gone();
    this.pulse?.end();
    this.handing?.end();
    this.peer?.stop();
    await this.door?.erase();
    location.reload();
  }

  /** A duplicate of this tab goes on with its servent: two would tread on each other's places and files. */
  #moved() {
    if (this.gone) return;
    this.gone = true;
    this.pulse?.end();
    this.handing?.last();
    this.handing?.end();
    this.door?.leave();
    this.peer?.stop();
    setAttr(this, 'data-moved', '');
    this.#say(t('part.moved'), true);
    this.note?.append(' ', el('button', { class: 'button small', type: 'button', text: t('part.moved.back'), on: { click: () => location.reload() } }));
    for (const part of this.querySelectorAll('main > section')) setAttr(part, 'inert', '');
  }
  gone = false;

  /** @param {FileList|undefined|null} files */
  #share(files) { if (!this.given) for (const file of files ?? []) this.peer?.share(file); }

  #search() {
    if (!this.peer || !this.words.value.trim()) return;
    if (this.search) this.peer.endSearch(this.search);
    this.found.clear();
    this.search = this.peer.search(this.words.value.trim());
    this.#show();
  }

  /** Another name is another beginning: neighbours know us by the one they were told. */
  async #spin() {
    if (this.named.spins < 1) return;
    this.named.spins -= 1;
    await this.#rename(await freeName());
  }

  /** @param {string} name */
  async #rename(name) {
    if (!name) return;
    this.named.name = name;
    await this.#remember();
    location.reload();
  }

  /** Back to the lab; with `look` this servent's tape is opened there. @param {boolean} look */
  leave(look) { this.dispatchEvent(new CustomEvent('leave', { detail: look ? this.peer?.tape() ?? null : null })); }

  /** What the node has told since it was last asked. */
  #hear() {
    for (const answer of this.peer?.answers() ?? []) {
      if (!answer.found) continue;
      const { search, name, size, sha1, push, at } = answer.found;
      const number = this.hits++;
      if (search !== this.search) {
        this.check?.found({ name, number });
        continue;
      }
      const key = sha1 ?? `${name}/${size}`;
      const file = this.found.get(key) ?? { key, name, size, hits: /** @type {Hit[]} */ ([]) };
      file.hits.push({ search, name, size, sha1, push, at, number });
      this.found.set(key, file);
    }
  }

  #show() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (!this.peer || this.gone) return;
    this.#hear();
    const view = this.peer.view(PLACES);
    const links = view.overlay?.links ?? [];
    setText(this.me, this.named.name);
    this.dot.style.setProperty('--hue', String(hueOf(this.named.name)));
    this.spin.hidden = this.named.spins < 1;
    setText(this.spin, t('part.spin', { n: this.named.spins }));
    setText(this.state, links.length ? t('part.state.on', { n: links.length }) : t('part.state.off'));
    setAttr(this.state, 'data-on', links.length > 0 && '');
    if (view.trouble) this.#say(t('part.stuck', { why: view.trouble }), true);
    this.#showFound();
    this.#showDownloads(view);
    this.lists.shares.show(view.shares, t(this.given ? 'part.shares.given' : 'part.shares.none'), (file) => ({ key: file.index, name: leaf(file.name), note: bytes(file.size), act: [t('part.drop'), () => this.peer?.unshare(file.index)] }));
    const { uploads, cards } = view.node.queue;
    this.lists.queue.show([...uploads, ...cards], t('part.queue.none'), (card) => ({
      key: card.ticket, name: card.peer, note: card.position ? t('part.queue.waits', { position: card.position, file: leaf(card.file) }) : t('part.queue.gets', { file: leaf(card.file) }),
      part: card.position ? undefined : (card.sent ?? 0) / Math.max(1, card.end - card.start),
    }));
    this.lists.neighbours.show(links, t('part.neighbours.none'), (link) => ({
      key: link.conn, name: personOf(link.agent) ?? t('part.neighbour.servent'), note: `${t('part.neighbour', link)}${wayTo(view, ({ conn }) => conn === link.conn)}`, hue: hueOf(personOf(link.agent) ?? ''),
    }));
  }

  #showFound() {
    const files = [...this.found.values()].sort((a, b) => b.hits.length - a.hits.length || a.name.localeCompare(b.name));
    this.lists.search.show(files, t(this.search ? 'part.search.none' : 'part.search.first'), (file) => {
      const near = file.hits.filter((hit) => !hit.push || isPage(hit.at));
      const way = near.length > 0 && near.every((hit) => isPage(hit.at)) ? ` · ${t('part.page')}` : '';
      const get = /** @type {[string, () => void]} */ ([t('part.get'), () => this.peer?.get(Uint32Array.from(near, (hit) => hit.number))]);
      return { key: file.key, name: leaf(file.name), note: `${bytes(file.size)} · ${near.length ? t('part.sources', { n: file.hits.length }) : t('part.get.not')}${way}`, act: near.length ? get : undefined, primary: true };
    });
  }

  /** @param {any} view */
  #showDownloads(view) {
    const going = view.node.fetches.filter((/** @type {any} */ fetch) => fetch.state !== 'done').map((/** @type {any} */ fetch) => ({
      key: `f${fetch.fetch}`, name: fetch.name, note: progress(fetch, view), part: fetch.size ? fetch.have / fetch.size : 0, act: [t('part.cancel'), () => this.peer?.cancel(fetch.fetch)],
    }));
    const done = view.done.map((/** @type {any} */ file) => ({
      key: `d${file.part}`, name: file.name, note: t('part.done', file), act: [t('part.save'), () => this.#save(file)], primary: true,
      ...this.given || view.shares.some((/** @type {any} */ one) => one.size === file.size && leaf(one.name) === file.name) ? { also: [t('part.drop'), () => this.peer?.forget(file.part)] } : { also: [t('part.hand'), () => this.#handOn(file)], third: [t('part.drop'), () => this.peer?.forget(file.part)] },
    }));
    this.lists.downloads.show([...going, ...done], t('part.downloads.none'), (row) => row);
  }

  /** Shares what was downloaded: a page that has a file can give it. @param {{part: number, name: string, size: number}} file */
  async #handOn({ part, name, size }) {
    this.peer?.share(new File([await /** @type {any} */ (this.door).file(part, size)], name));
  }

  /** @param {{part: number, name: string, size: number}} file */
  async #save({ part, name, size }) {
    const url = URL.createObjectURL(await /** @type {any} */ (this.door).file(part, size));
    el('a', { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }
}

/** @param {string} name */
const leaf = (name) => name.slice(name.lastIndexOf('/') + 1);

/** How the connection with this peer leads there, in words: to another page, or else nothing. @param {any} view @param {(way: any) => boolean} is */
function wayTo(view, is) {
  const { way = 'servent' } = view.ways.find(is) ?? {};
  return way === 'servent' ? '' : ` · ${t(`part.way.${way}`)}`;
}

/** Where a download stands, in words. @param {any} fetch @param {any} view */
function progress(fetch, view) {
  const { now } = view;
  const has = (/** @type {string} */ state) => fetch.sources.find((/** @type {any} */ source) => source.state === state);
  if (fetch.state === 'waiting') return t('part.turn');
  if (fetch.state !== 'running') return t(`part.ended.${fetch.state}`);
  const from = has('receiving');
  if (from) return `${t('part.receiving', { have: fetch.have, size: fetch.size ?? 0 })}${wayTo(view, ({ peer }) => peer === from.at)}`;
  const queued = fetch.sources.find((/** @type {any} */ source) => source.position !== null);
  if (queued) return `${t('part.place', queued)}${queued.lost ? `. ${t('part.lost', queued)}` : ''}`;
  // A servent keeps the first question until a slot is free, and after a while answers it with the place.
  if (has('asking')) return t('part.held');
  const waiting = has('waiting');
  return waiting?.ask_at > now ? t('part.waiting', { in: waiting.ask_at - now }) : t('part.asking');
}

customElements.define('part-screen', PartScreen);
