/** `<servent-lab>`: puts the page together and starts it. */
import '#lab/lesson/panel.js';
import '#lab/panels/events.js';
import '#lab/panels/find.js';
import '#lab/panels/inspector.js';
import '#lab/timeline/track.js';
import '#lab/timeline/transport.js';
import { Lesson } from '#servent';
import { Address } from '#lab/address.js';
import { load } from '#lab/core.js';
import { announce, el, icon, setAttr, setText, stillness } from '#lab/dom.js';
import { kinds, save } from '#lab/open/export.js';
import { acceptDrops, openAddresses, openTape, pick, tracesIn } from '#lab/open/files.js';
import { canBeEmbedded, embedAsWanted, embedsLesson, isEmbedded, snippet, tellParent } from '#lab/embed.js';
import { Fold } from '#lab/fold.js';
import { hide, isHidden } from '#lab/session/future.js';
import { listen, sheet } from '#lab/keys.js';
import { LANGUAGES, chooseLanguage, language, speakAsWanted, speaksOtherwise } from '#lab/language.js';
import { Classroom } from '#lab/lesson/lesson.js';
import { lessonList } from '#lab/lesson/list.js';
import { beginInPlatform, lessonInPackage } from '#lab/lesson/platform.js';
import { isLocked, lockAsWanted } from '#lab/lock.js';
import { Live, info } from '#lab/open/live.js';
import { keepOffline } from '#lab/open/offline.js';
import { openMenu } from '#lab/panels/menu.js';
import { scenarioDialog } from '#lab/panels/scenario.js';
import { linkForClass, linkOf, openLink, viewIn } from '#lab/permalink.js';
import { enter, enters, resume } from '#lab/peer/enter.js';
import { Session } from '#lab/session/session.js';
import { speak, t, tell } from '#lab/strings.js';
import { keysWanted, nextTheme, projecting, recall, remember, restoreTheme, themeNow, toggleProjector } from '#lab/theme.js';
import { OPENING, VIEWS, firstView, viewOf } from '#lab/views.js';

/** @import { Info } from './open/live.js' */
/** @import { Pane, View } from './views.js' */

/** The folded inspector has something new this often, in milliseconds. */
const TELL_MS = 500;
/** That something was done to the world is seen for so long, in milliseconds. */
const FLASH_MS = 700;
/** What was said so long ago, in milliseconds, was said before what is happening now. */
const SAID_MS = 300;
/** How a world is looked at. */
const MODES = /** @type {const} */ (['single', 'compare', 'events']);

class ServentLab extends HTMLElement {
  session = new Session(firstView);
  live = new Live(this.session);
  address = new Address(this.session);
  room = new Classroom(this.session);

  async connectedCallback() {
    restoreTheme();
    embedAsWanted(location.search);
    await speakAsWanted(location.hash);
    this.#lock();
    this.session.keys = keysWanted();
    resume();
    let tape = null;
    while (enters(location.hash)) tape = await enter(this);
    this.address.arrived();
    this.session.clock.ease.on = recall('ease') !== 'off';
    this.replaceChildren(el('p', { class: 'lab-boot', text: t('app.loading') }));
    try {
      // What a link names is fetched beside the first view, not after it.
      const wanted = viewIn(location.hash);
      const [view] = await Promise.all([viewOf(wanted), load()]);
      this.session.view = view;
      this.session.clock.speed = view.speed;
      speak(view.strings, view.id);
      this.#build();
      this.#wayBack();
      if (tape) await this.#beginInside(tape);
      else await this.#begin();
      keepOffline();
      tellParent(this.session, this.room);
    } catch (why) {
      this.replaceChildren(el('div', { class: 'lab-boot', role: 'alert' }, el('div', {}, el('p', { text: t('app.failed', { why: why instanceof Error ? why.message : String(why) }) }), el('p', { text: t('app.failed.hint') }))));
      throw why;
    }
  }

  /** A class, the lesson of a package, and that of another page stay where they are. */
  #lock() { lockAsWanted(location.hash, lessonInPackage(location.search) !== null || embedsLesson(location.hash)); }

  #build() {
    const { session } = this;
    this.table = el('event-table', { hidden: true });
    this.find = el('find-bar', { hidden: true });
    this.inspector = el('lab-inspector');
    this.teacher = el('lesson-panel');
    this.transport = el('time-transport');
    this.track = el('time-track');
    this.story = el('div', { class: 'story foldable' }, el('strong'), el('p'), el('button', { class: 'button', type: 'button', 'aria-haspopup': 'dialog', text: `${t('tool.scenario')} ▾`, on: { click: () => scenarioDialog(session) } }));
    this.notices = el('div', { class: 'notices' });
    this.panes = el('div', { class: 'panes' }, this.table);
    this.replaceChildren(this.#head(),
      el('main', { class: 'lab-view' }, el('div', {}, this.story, this.#hint(), this.find, this.notices), this.panes),
      this.#side(), this.#time());
    session.addEventListener('frame', () => session.guard(() => { if (session.mode !== 'events') this.#pane().update(); }));
    for (const part of [this.table, this.find, this.inspector, this.track]) part.connect(session);
    this.teacher.connect(this.room, () => lessonList(this.room), () => this.#copyClassLink());
    session.addEventListener('lesson', () => {
      this.#unsaid();
      this.#hideFuture(this.wished);
    });
    this.transport.connect(session, () => this.live.now());
    session.addEventListener('run', () => this.#showRun());
    session.addEventListener('view', () => this.#showView());
    for (const type of ['select', 'view']) session.addEventListener(type, () => this.#answered());
    session.addEventListener('struck', () => this.#struck());
    session.addEventListener('notice', (e) => this.#notice(/** @type {CustomEvent} */ (e).detail));
    listen(session, { copyLink: () => this.#copyLink(), future: () => this.#wish(!this.wished), search: () => this.#search(), lesson: (by) => this.#turn(by), view: (id) => this.#goTo(id) });
    acceptDrops(session, (text) => this.#teach(text), !isLocked());
    addEventListener('hashchange', () => { if (location.hash !== this.address.own && !this.hidden) this.#follow(); });
    addEventListener('hashchange', () => { if (speaksOtherwise(location.hash)) location.reload(); });
  }

  /** The picture shows for a moment that something was done to it. */
  #struck() {
    clearTimeout(this.flash);
    setAttr(this.panes, 'data-struck', '');
    this.flash = window.setTimeout(() => setAttr(this.panes, 'data-struck', null), FLASH_MS);
  }
  flash = 0;

  #side() {
    const { session } = this;
    this.inspector.classList.add('foldable');
    const details = new Fold('side', this.inspector, { changed: () => { session.clock.touch(); this.#pane().update(); this.#pane().reveal?.(); } }, el('b', { text: t('inspect.title') }), this.news = el('span', { class: 'news', 'aria-hidden': 'true' }));
    for (const type of ['frame', 'select']) session.addEventListener(type, () => this.#tell(details.open));
    return el('aside', { class: 'lab-side', 'aria-label': t('inspect.title'), tabindex: '0' }, this.teacher, details.button, this.inspector);
  }

  /** What the folded inspector is about; while it moves no faster than one can read. @param {boolean} open */
  #tell(open) {
    const { session } = this;
    if (open || !this.news.checkVisibility() || (session.clock.playing && performance.now() - this.told < TELL_MS)) return;
    this.told = performance.now();
    session.guard(() => {
      const record = session.selection.name ? null : session.current();
      setText(this.news, record ? tell(record) : session.selection.name);
    });
  }
  told = 0;

  #time() {
    const time = el('footer', { class: 'lab-time', 'aria-label': t('time.track') }, this.transport, this.track);
    time.append(new Fold('time', time, { label: t('fold.time'), changed: () => this.session.clock.touch() }).button);
    return time;
  }

  /** The picture of the view; each is made once and kept. */
  #pane() {
    const { view } = this.session;
    let pane = this.made.get(view);
    if (!pane) {
      pane = view.pane();
      pane.connect(this.session);
      this.made.set(view, pane);
      this.panes.prepend(pane);
      pane.restart();
    }
    return pane;
  }
  /** @type {Map<View, Pane>} */
  made = new Map();

  /** Looks at another view: where it was left, or at its first story. @param {string} id */
  async #goTo(id) {
    const { session } = this;
    if (id === session.view.id) return;
    this.wanted = id;
    const button = this.views.querySelector(`[data-view="${id}"]`);
    setAttr(button, 'aria-busy', 'true');
    try {
      const view = await viewOf(id);
      // A person who pressed another key meanwhile wants that.
      if (this.wanted !== id) return;
      if (!session.bring(view) && !session.setView(view)) this.#first();
    } catch (why) {
      session.notice(t('view.failed', { why: why instanceof Error ? why.message : String(why) }), { bad: true });
    } finally {
      setAttr(button, 'aria-busy', null);
    }
  }

  /** The first story of the view. */
  #first() {
    const { session } = this;
    session.openPreset(session.view.presets()[0].id);
    // Motion starts by itself only where the user did not ask for stillness.
    if (!stillness()) session.clock.play();
    this.#introduce();
  }

  /** For a person who is here for the first time the opening story stops where something is found, and says so. */
  #introduce() {
    const { session } = this;
    const { preset, run } = session;
    if (recall('hint') === 'seen' || session.view.id !== OPENING || !session.clock.playing || isEmbedded()) return;
    const look = () => {
      const gone = session.run !== run || session.preset !== preset || !session.clock.playing;
      const [found] = gone || !run ? [] : run.records(0, 1, '"answered"');
      if (!gone && !(found && found.seq < (run?.index ?? 0))) return;
      session.removeEventListener('frame', look);
      if (!found || gone) return;
      session.clock.pause();
      session.select({ node: found.node, ticket: null, name: found.node_name });
      session.notice(t('first.answered', { node: found.node_name }));
    };
    session.addEventListener('frame', look);
  }

  #head() {
    const { session } = this;
    const tool = (/** @type {string} */ key, /** @type {string} */ sign, /** @type {(e: any) => void} */ run, extra = '') =>
      el('button', { class: `button plain icon ${extra}`, type: 'button', 'aria-label': t(`tool.${key}`), title: t(`tool.${key}`), data: { tool: key }, on: { click: run } }, icon(sign));
    this.scenarioButton = el('button', { class: 'button', type: 'button', data: { tool: 'scenario' }, 'aria-haspopup': 'dialog', on: { click: () => scenarioDialog(session) } }, `${t('tool.scenario')} ▾`);
    const tab = (/** @type {string} */ kind, /** @type {string} */ id, /** @type {() => void} */ run) =>
      el('button', { class: 'button', type: 'button', data: { [kind]: id }, on: { click: run } }, el('span', { text: t(`${kind}.${id}`) }));
    this.views = el('nav', { class: 'tabs', 'aria-label': t('view.label') }, ...VIEWS.map((id) => tab('view', id, () => this.#goTo(id))));
    this.modes = el('div', { class: 'segmented', role: 'group', 'aria-label': t('mode.label') }, ...MODES.map((id) => tab('mode', id, () => session.setMode(id))));
    this.themeButton = tool('theme', 'theme', () => { nextTheme(); this.#showTheme(); });
    this.projector = tool('projector', 'screen', () => { toggleProjector(); this.#showTheme(); session.clock.touch(); }, 'rare');
    this.sources = el('span', { hidden: true });
    this.futureButton = tool('future', 'eye', () => this.#wish(!this.wished));
    const more = el('div', { class: 'lab-more foldable' }, this.views, el('span', { class: 'spring' }), this.sources, this.scenarioButton, this.modes,
      el('div', { class: 'lab-tools' },
        tool('open', 'open', () => pick(session, (text) => this.#teach(text)), 'rare'),
        tool('save', 'save', (e) => openMenu(e.currentTarget, t('tool.save'), [...kinds.map((kind) => ({ text: t(`tool.save.${kind}`), run: () => this.#save(kind) })), ...this.#links()]), 'rare'),
        tool('lessons', 'lesson', () => lessonList(this.room)), this.projector, this.futureButton, this.themeButton, this.#language(), tool('link', 'link', () => this.#copyLink()), tool('help', 'help', () => sheet(session))));
    this.menu = new Fold('menu', more, {}, icon('logo'), this.here = el('span'));
    this.menu.over('[data-tool="theme"], [data-tool="save"], [data-tool="language"]');
    const title = new Fold('story', this.story, {}, this.named = el('span'));
    return el('header', { class: 'lab-head' }, el('h1', { class: 'brand' }, icon('logo'), t('app.title')), this.menu.button, title.button, more);
  }

  /** The way to the other languages, each written in itself. */
  #language() {
    const change = async (/** @type {string} */ id) => {
      chooseLanguage(id);
      await this.address.keep();
      location.reload();
    };
    const now = language();
    // It is named by what is seen, for a person who says it aloud; the rest describes it.
    const title = `${t('tool.language')}: ${LANGUAGES[now] ?? now}`;
    const items = Object.entries(LANGUAGES).map(([id, text]) => ({ text, lang: id, chosen: id === now, run: () => change(id) }));
    return el('button', { class: 'button plain language', type: 'button', 'aria-haspopup': 'menu', title, data: { tool: 'language' }, on: { click: (/** @type {any} */ e) => openMenu(e.currentTarget, t('tool.language'), items) } }, now.toUpperCase());
  }

  /** A servent in this page, or a screen of the room, beside the lab, which waits as it is. @returns {Promise<unknown>} */
  async #takePart() {
    const { address } = this;
    const { own } = address;
    this.session.clock.pause();
    address.away = true;
    const tape = await enter(this);
    address.back();
    this.#wayBack();
    if (tape) return this.#lookInside(tape);
    if (tape === null) return address.keep();
    if (enters(location.hash)) return this.#takePart();
    return location.hash === own ? undefined : this.#openHash();
  }

  /** What was recorded until now, or a world made of that. @param {Uint8Array|{scenario: any}} tape */
  async #lookInside(tape) {
    this.live.stop();
    if ('scenario' in tape) {
      this.session.setView(await viewOf('queue'));
      this.session.mode = 'compare';
      return this.session.openScenario(tape.scenario);
    }
    return openTape(this.session, new Blob([/** @type {any} */ (tape)]).stream(), t('part.title'), tape.length);
  }

  /** The screen of a room goes on behind the lab, and a tab leads to it. */
  #wayBack() {
    for (const name of ['host', 'room']) {
      if (!document.querySelector(`${name}-screen`) || this.views.querySelector(`[data-view="${name}"]`)) continue;
      this.views.append(el('button', { class: 'button', type: 'button', data: { view: name }, on: { click: () => { location.hash = `#${name}`; } } }, el('span', { text: t(`${name}.title`) })));
    }
  }

  /** One line for a person who is here for the first time. */
  #hint() {
    if (recall('hint') === 'seen') return null;
    const close = () => {
      remember('hint', 'seen');
      hint.remove();
    };
    const words = el('span', {});
    const whole = new Fold('hint', words, { label: t('fold.hint') });
    // What is recorded can be looked at from all sides, and not broken.
    this.session.addEventListener('run', () => setText(words, t(`${this.session.view.id}.hint${this.session.scenario ? '' : this.session.run?.together ? '.together' : '.trace'}`)));
    const hint = el('div', { class: 'hint' }, words, whole.button, el('button', { class: 'button small', type: 'button', text: t('app.hint.close'), on: { click: close } }));
    return hint;
  }

  /** What to show first: a link's moment, a servent at work, or the first story. */
  async #begin() {
    this.#showTheme();
    this.wished = recall('future') === 'hidden';
    this.#hideFuture(this.wished);
    const packed = lessonInPackage(location.search);
    if (packed !== null) return beginInPlatform(this.room, packed);
    const about = await info();
    if (location.hash.length > 1 && await this.#openHash()) return undefined;
    if (about) this.#offer(about);
    const serves = about?.live || about?.traces?.length;
    // A link that cannot be followed still says which view was meant.
    this.session.setView(await viewOf(serves ? firstView.id : viewIn(location.hash)));
    if (about?.live) return this.live.follow(about, about.servents?.[0]?.id);
    if (about?.traces?.length) return this.#fetchTrace(about.traces[0]);
    return this.#first();
  }

  /** What was recorded on the screen one comes from, and the way back to it. @param {Uint8Array|{scenario: any}} tape */
  async #beginInside(tape) {
    this.#showTheme();
    this.#hideFuture(false);
    const about = await info();
    if (about) this.#offer(about);
    return this.#lookInside(tape);
  }

  /** Servents and traces of the server behind the page. @param {Info} about */
  #offer(about) {
    if (about.part) this.views.append(el('button', { class: 'button', type: 'button', data: { view: 'part' }, on: { click: () => this.#takePart() } }, el('span', { text: t('view.part') })));
    const { servents = [], traces = [] } = about;
    if (servents.length + traces.length < 2 || !this.sources) return;
    const group = (/** @type {string} */ label, /** @type {[string, string][]} */ entries) => (entries.length ? el('optgroup', { label }, ...entries.map(([value, text]) => el('option', { value, text }))) : null);
    const choice = el('select', { class: 'input', 'aria-label': t('trace.which') },
      group(t('trace.which.live'), servents.map((s) => [`servent:${s.id}`, s.name])),
      group(t('trace.which.recorded'), traces.map((name) => [`trace:${name}`, name])));
    choice.addEventListener('change', () => {
      const [kind, name] = [choice.value.slice(0, choice.value.indexOf(':')), choice.value.slice(choice.value.indexOf(':') + 1)];
      if (kind === 'servent') this.live.follow(about, name);
      else this.#fetchTrace(name);
    });
    // A story is none of them; choosing leads back.
    this.session.addEventListener('run', () => { if (this.session.scenario) choice.selectedIndex = -1; });
    this.sources.replaceChildren(choice);
    this.sources.hidden = false;
  }

  /** @param {string} name */
  async #fetchTrace(name) {
    this.live.stop();
    const answer = await fetch(`api/traces/${encodeURIComponent(name)}`);
    if (answer.body) await openTape(this.session, answer.body, name, Number(answer.headers.get('content-length')));
  }

  /** @param {import('./open/export.js').Kind} kind */
  #save(kind) {
    const { session } = this;
    const events = session.mode === 'events';
    save(session, kind, { picture: events ? this.table : this.#pane(), query: events ? this.table.query : '' });
  }

  /** Another address was asked for; a page in a class stays there. */
  #follow() {
    // What is embedded is up to the page around it.
    if (isEmbedded()) this.#lock();
    else if (isLocked()) return this.address.show(this.address.own);
    if (enters(location.hash)) return this.#takePart();
    this.address.arrived();
    return this.#openHash();
  }

  async #openHash() {
    const traces = tracesIn(location.hash);
    if (traces !== null) {
      this.live.stop();
      return openAddresses(this.session, traces);
    }
    this.session.setView(await viewOf(viewIn(location.hash)));
    const { opened, problem } = await openLink(this.session, location.hash, (id, step) => this.room.open(id, step));
    if (problem) this.session.notice(t(...problem), { bad: true });
    this.#showView();
    return opened;
  }

  #showRun() {
    const { session } = this;
    if (this.named.textContent !== session.title) this.#unsaid();
    setText(this.story.children[0], session.title);
    setText(this.named, session.title);
    this.named.parentElement.hidden = !session.title;
    setText(this.story.children[1], session.text);
    setAttr(this.story.children[1], 'title', session.text);
    this.story.hidden = !session.title;
    setAttr(this.scenarioButton, 'title', t('tool.scenario.named', { name: session.title }));
    this.#pane().restart();
    this.#showView();
  }

  #showView() {
    const { session } = this;
    const { view, mode } = session;
    const now = this.#pane();
    for (const pane of this.made.values()) pane.hidden = pane !== now || mode === 'events';
    this.table.hidden = mode !== 'events';
    for (const button of this.views.children) setAttr(button, 'aria-current', button.dataset.view === view.id ? 'page' : null);
    for (const button of this.modes.children) {
      setAttr(button, 'aria-pressed', String(button.dataset.mode === mode));
      setText(button.firstElementChild, t(`${view.id}.mode.${button.dataset.mode}`));
    }
    setText(this.here, t(`view.${view.id}`));
    setAttr(this.menu?.button, 'aria-label', t('fold.menu', { view: t(`view.${view.id}`) }));
    document.title = `${t(`view.${view.id}`)} · ${t('app.title')}`;
    session.clock.touch();
  }

  #showTheme() {
    const label = t('tool.theme', { now: t(`tool.theme.${themeNow()}`) });
    setAttr(this.themeButton, 'aria-label', label);
    setAttr(this.themeButton, 'title', label);
    setAttr(this.projector, 'aria-pressed', String(projecting()));
    this.track.redraw();
    this.session.emit('theme');
    this.session.clock.touch();
  }

  /** Whether the future is hidden is wished for, and remembered. @param {boolean} on */
  #wish(on) {
    this.wished = on;
    remember('future', on ? 'hidden' : 'shown');
    this.#hideFuture(on);
  }
  wished = false;

  /** A lesson from a file. @param {string} text */
  #teach(text) {
    try {
      this.room.begin(Lesson.read(text));
    } catch (why) {
      this.session.notice(t('lesson.bad', { why: why instanceof Error ? why.message : String(why) }), { bad: true });
    }
  }

  /** Back and forth in a lesson. @param {number} by */
  #turn(by) {
    const { room } = this;
    // A presenter's keys always do something.
    if (!room.view) return this.session.clock.step(by);
    if (by > 0 && room.asks) return announce(t('lesson.first'));
    return room.turn(by);
  }

  /** Nothing on the page knows more than the clock, or all that is known is shown again; a learner who is asked what will happen never sees it. @param {boolean} wished */
  #hideFuture(wished) {
    const on = wished || this.room.hides;
    if (on === isHidden() && this.futureButton.hasAttribute('aria-pressed')) return;
    hide(on);
    setAttr(this.futureButton, 'aria-pressed', String(on));
    const label = t(on ? 'tool.future.hidden' : 'tool.future');
    setAttr(this.futureButton, 'aria-label', label);
    setAttr(this.futureButton, 'title', label);
    this.track.redraw();
    this.session.emit('theme');
    this.session.emit('future');
    this.session.clock.touch();
  }

  #search() {
    this.session.setMode('events');
    this.table.querySelector('input').focus();
  }

  async #copyClassLink() {
    const link = await linkForClass(this.session);
    if (!link) return this.session.notice(t(link === null ? 'link.trace' : 'link.large'));
    return this.#copy(link, this.session.lesson ? 'lesson.class.done' : 'class.done');
  }

  /** What gives others this story or lesson; a lesson from a file is in no link. */
  #links() {
    if (this.room.view && this.room.own) return [];
    const embed = { text: t('tool.save.embed'), run: () => this.#copyEmbed() };
    return [{ text: t('tool.save.class'), run: () => this.#copyClassLink() }, ...(canBeEmbedded() ? [embed] : [])];
  }

  /** What puts this view into another page. */
  async #copyEmbed() {
    const link = await linkForClass(this.session);
    if (!link) return this.session.notice(t(link === null ? 'link.trace' : 'link.large'));
    const html = snippet(link, this.room.view?.title ?? this.session.title);
    try {
      await navigator.clipboard.writeText(html);
      return this.session.notice(t('embed.done'));
    } catch {
      return this.session.notice(html);
    }
  }

  async #copyLink() {
    const link = await linkOf(this.session);
    if (link === null) return this.session.notice(t('link.trace'));
    if (link === '') return this.session.notice(t('link.large'));
    return this.#copy(link, 'tool.link.done');
  }

  /** @param {string} link @param {string} done what is said then */
  async #copy(link, done) {
    this.address.show(link);
    try {
      await navigator.clipboard.writeText(location.href);
      this.session.notice(t(done));
    } catch {
      this.session.notice(t('tool.link.shown'));
    }
  }

  /** @param {{sentence: string, bad?: boolean, link?: string, stop?: {text: string, run: () => void}}} notice */
  #notice({ sentence, bad, link, stop }) {
    const node = el('div', { class: `notice${bad ? ' bad' : ''}` }, el('span', { text: sentence }),
      stop ? el('button', { class: 'button small', type: 'button', text: stop.text, on: { click: stop.run } }) : null,
      link ? el('a', { href: link, text: t('app.panic.link') }) : null,
      el('button', { class: 'button small', type: 'button', text: t('app.dismiss'), on: { click: () => node.remove() } }));
    this.notices.replaceChildren(node);
    this.noticed = performance.now();
    if (!bad) setTimeout(() => node.remove(), 6000);
  }
  noticed = 0;

  /** What was said of another world is over, also a complaint; what was said of this change is not. */
  #unsaid() {
    if (performance.now() - this.noticed > SAID_MS) this.notices.replaceChildren();
    else this.notices.querySelector('.notice:not(.bad)')?.remove();
  }

  /** What was asked for has been done. */
  #answered() {
    if (performance.now() - this.noticed > SAID_MS) this.notices.querySelector('.notice:not(.bad)')?.remove();
  }
}

customElements.define('servent-lab', ServentLab);
