/** `<servent-lab>`: puts the page together and starts it. */
import './board/queue-board.js';
import './panels/events.js';
import './panels/inspector.js';
import './timeline/track.js';
import './timeline/transport.js';
import { openMenu } from './board/menu.js';
import { el, icon, setAttr, setText } from './dom.js';
import { acceptDrops, openTrace, pick, save } from './files.js';
import { listen, sheet } from './keys.js';
import { Live, info } from './live.js';
import { scenarioDialog } from './panels/scenario.js';
import { linkOf, openLink } from './permalink.js';
import { loadCore, presets } from './run.js';
import { Session, dialects, mayAutoplay } from './session.js';
import { t } from './strings.js';
import { keysWanted, nextTheme, projecting, recall, remember, restoreTheme, themeNow, toggleProjector } from './theme.js';

/** @import { Info } from './live.js' */
/** @import { QueueBoard } from './board/queue-board.js' */

/** What a run can be exported as. */
const KINDS = /** @type {const} */ (['sqlog', 'pcapng']);
const VIEWS = /** @type {const} */ (['queue', 'compare', 'events']);

class ServentLab extends HTMLElement {
  session = new Session();
  live = new Live(this.session);

  async connectedCallback() {
    restoreTheme();
    this.session.keys = keysWanted();
    this.replaceChildren(el('p', { class: 'lab-boot', text: t('app.loading') }));
    try {
      await loadCore();
      this.#build();
      await this.#begin();
    } catch (why) {
      this.replaceChildren(el('div', { class: 'lab-boot', role: 'alert' }, el('div', {}, el('p', { text: t('app.failed', { why: why instanceof Error ? why.message : String(why) }) }), el('p', { text: t('app.failed.hint') }))));
      throw why;
    }
  }

  #build() {
    const { session } = this;
    this.boards = /** @type {QueueBoard[]} */ ([el('queue-board'), el('queue-board', { hidden: true })]);
    this.table = el('event-table', { hidden: true });
    this.inspector = el('lab-inspector');
    this.transport = el('time-transport');
    this.track = el('time-track');
    this.story = el('div', { class: 'story' }, el('strong'), el('p'));
    this.notices = el('div', { class: 'notices' });
    this.replaceChildren(this.#head(),
      el('main', { class: 'lab-view' }, el('div', {}, this.story, this.#hint(), this.notices), el('div', { class: 'panes' }, ...this.boards, this.table)),
      el('aside', { class: 'lab-side', 'aria-label': t('inspect.title'), tabindex: '0' }, this.inspector),
      el('footer', { class: 'lab-time', 'aria-label': t('time.track') }, this.transport, this.track));
    this.boards.forEach((board, i) => board.connect(session, () => session.runs()[i] ?? null, t('view.queue')));
    session.addEventListener('frame', () => this.boards?.forEach((board) => session.guard(() => board.update())));
    for (const part of [this.table, this.inspector, this.track]) part.connect(session);
    this.transport.connect(session, () => this.live.now());
    session.addEventListener('run', () => this.#showRun());
    session.addEventListener('view', () => this.#showView());
    session.addEventListener('notice', (e) => this.#notice(/** @type {CustomEvent} */ (e).detail));
    listen(session, { copyLink: () => this.#copyLink(), search: () => this.#search() });
    acceptDrops(session);
    addEventListener('hashchange', () => { if (location.hash !== this.ownHash) this.#openHash(); });
  }

  #head() {
    const { session } = this;
    const tool = (/** @type {string} */ key, /** @type {string} */ sign, /** @type {(e: any) => void} */ run, extra = '') =>
      el('button', { class: `button plain icon ${extra}`, type: 'button', 'aria-label': t(`tool.${key}`), title: t(`tool.${key}`), data: { tool: key }, on: { click: run } }, icon(sign));
    this.scenarioButton = el('button', { class: 'button', type: 'button', data: { tool: 'scenario' }, 'aria-haspopup': 'dialog', on: { click: () => scenarioDialog(session) } }, `${t('tool.scenario')} ▾`);
    this.views = el('nav', { class: 'segmented', 'aria-label': t('view.label') },
      ...VIEWS.map((view) => el('button', { class: 'button', type: 'button', data: { view }, text: t(`view.${view}`), on: { click: () => session.setView(view) } })));
    this.themeButton = tool('theme', 'theme', () => { nextTheme(); this.#showTheme(); });
    this.projector = tool('projector', 'screen', () => { toggleProjector(); this.#showTheme(); session.touch(); }, 'rare');
    this.sources = el('span', { hidden: true });
    return el('header', { class: 'lab-head' },
      el('h1', { class: 'brand' }, icon('logo'), t('app.title')), this.scenarioButton, this.sources, this.views, el('span', { class: 'spring' }),
      el('div', { class: 'lab-tools' },
        tool('open', 'open', () => pick(session), 'rare'),
        tool('save', 'save', (e) => openMenu(e.currentTarget, t('tool.save'), KINDS.map((kind) => ({ text: t(`tool.save.${kind}`), run: () => save(session, kind) }))), 'rare'),
        this.projector, this.themeButton, tool('link', 'link', () => this.#copyLink()), tool('help', 'help', () => sheet(session))));
  }

  /** One line for whoever is here for the first time. */
  #hint() {
    if (recall('hint') === 'seen') return null;
    const close = () => {
      remember('hint', 'seen');
      hint.remove();
    };
    const words = el('span', {});
    // What is recorded can be looked at from all sides, and not broken.
    this.session.addEventListener('run', () => setText(words, t(this.session.scenario ? 'app.hint' : 'app.hint.trace')));
    const hint = el('p', { class: 'hint' }, words, el('button', { class: 'button small', type: 'button', text: t('app.hint.close'), on: { click: close } }));
    return hint;
  }

  /** What to show first: a link's moment, a servent at work, or the first story. */
  async #begin() {
    this.#showTheme();
    const about = await info();
    if (location.hash.length > 1 && await this.#openHash()) return;
    if (about) this.#offer(about);
    if (about?.live) return this.live.follow(about, about.servents?.[0]?.id);
    if (about?.traces?.length) return this.#fetchTrace(about.traces[0]);
    this.session.openPreset(presets()[0].id);
    this.#showView();
    if (mayAutoplay()) this.session.play();
    return undefined;
  }

  /** Servents and traces of the server behind the page. @param {Info} about */
  #offer(about) {
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
    openTrace(this.session, new Uint8Array(await answer.arrayBuffer()), name);
  }

  async #openHash() {
    const { opened, problem } = await openLink(this.session, location.hash);
    if (problem) this.session.notice(t(...problem), { bad: true });
    this.#showView();
    return opened;
  }

  #showRun() {
    const { session } = this;
    setText(this.story.children[0], session.title);
    setText(this.story.children[1], session.text);
    this.story.hidden = !session.title;
    setAttr(this.scenarioButton, 'title', t('tool.scenario.named', { name: session.title }));
    this.boards?.forEach((board) => board.restart());
    this.#showView();
  }

  #showView() {
    const { session } = this;
    const compare = session.view === 'compare' && session.other !== null;
    const names = session.scenario && compare ? dialects(session.scenario) : [];
    this.boards?.forEach((board, i) => {
      board.hidden = session.view === 'events' || (i === 1 && !compare);
      board.name(compare ? t(`compare.${names[i]}`) : session.run?.server.name ?? '');
    });
    this.table.hidden = session.view !== 'events';
    for (const button of this.views.children) setAttr(button, 'aria-current', button.dataset.view === session.view ? 'true' : null);
    session.touch();
  }

  #showTheme() {
    const label = t('tool.theme', { now: t(`tool.theme.${themeNow()}`) });
    setAttr(this.themeButton, 'aria-label', label);
    setAttr(this.themeButton, 'title', label);
    setAttr(this.projector, 'aria-pressed', String(projecting()));
    this.track.redraw();
  }

  #search() {
    this.session.setView('events');
    this.table.querySelector('input').focus();
  }

  async #copyLink() {
    const link = await linkOf(this.session);
    if (link === null) return this.session.notice(t('link.trace'));
    if (link === '') return this.session.notice(t('link.large'));
    this.ownHash = link;
    history.replaceState(null, '', link);
    try {
      await navigator.clipboard.writeText(location.href);
      this.session.notice(t('tool.link.done'));
    } catch {
      this.session.notice(t('tool.link.shown'));
    }
    return undefined;
  }

  /** @param {{sentence: string, bad?: boolean, link?: string}} notice */
  #notice({ sentence, bad, link }) {
    const node = el('div', { class: `notice${bad ? ' bad' : ''}` }, el('span', { text: sentence }),
      link ? el('a', { href: link, text: t('app.panic.link') }) : null,
      el('button', { class: 'button small', type: 'button', text: t('app.dismiss'), on: { click: () => node.remove() } }));
    this.notices.replaceChildren(node);
    if (!bad) setTimeout(() => node.remove(), 6000);
  }
}

customElements.define('servent-lab', ServentLab);
