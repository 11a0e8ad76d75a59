/** `<host-screen>`: for the host of the room alone: who is here, a sentence to every page, and how the network is configured. */
import { el, fill, icon, setAttr, setText } from '#lab/dom.js';
import { Again } from '#lab/peer/again.js';
import { hueOf, personOf } from '#lab/peer/names.js';
import { present } from '#lab/peer/present.js';
import { Rows } from '#lab/peer/rows.js';
import { Teaching, pageRows } from '#lab/peer/teach.js';
import { t } from '#lab/strings.js';

/** Asked so often, in milliseconds. */
const ASK_MS = 1000;
/** What the servents of pages are configured with, and the most of each. */
const RULES = /** @type {const} */ ({ slots: 16, degree: 8, ttl: 7 });
/** How those who wait are told to ask again. */
const POLICIES = /** @type {const} */ (['text', 'adaptive']);
/** The most datagrams from page to page that are lost, of a hundred. */
const LOSS = 50;

/** What the host does; the answer is an error, or nothing. @param {unknown} act */
async function tell(act) {
  const answer = await fetch('api/room', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(act) }).catch(() => null);
  return answer?.ok ? '' : t(answer?.status === 403 ? 'room.locked' : 'room.silent');
}

class HostScreen extends HTMLElement {
  /** @type {Record<string, any>} */ fields = {};

  connectedCallback() {
    if (this.shown) return;
    this.shown = true;
    const section = (/** @type {string} */ name, /** @type {(Node|null)[]} */ ...inside) => el('section', { class: `host-${name}`, 'aria-label': t(`host.${name}`) }, el('h2', { text: t(`host.${name}`) }), ...inside);
    const form = (/** @type {() => unknown} */ act, /** @type {(Node|null)[]} */ ...inside) => el('form', { class: 'host-form', on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); this.#do(act()); } } }, ...inside);
    const number = (/** @type {string} */ name, /** @type {number} */ max, min = 1) => {
      this.fields[name] = el('input', { class: 'input', type: 'number', min: String(min), max: String(max), value: '', required: true });
      return el('label', { class: 'host-number' }, el('span', { text: t(`host.${name}`) }), this.fields[name]);
    };
    const policy = (/** @type {string} */ name) => {
      this.fields[name] = el('select', { class: 'input' }, ...POLICIES.map((one) => el('option', { value: one, text: t(`host.policy.${one}`) })));
      // Nothing is chosen before it is known what is in force.
      this.fields[name].value = '';
      return el('label', { class: 'host-number' }, el('span', { text: t('host.policy') }), this.fields[name]);
    };
    const value = (/** @type {string} */ name) => Number(this.fields[name].value);
    this.words = el('input', { class: 'input', maxlength: '200', required: true, 'aria-label': t('host.say') });
    const act = (/** @type {string} */ name, /** @type {unknown} */ does) => el('button', { class: 'button', type: 'button', text: t(name), on: { click: () => this.#do(does) } });
    this.freeze = act('host.freeze.do', { freeze: true });
    this.thaw = act('host.freeze.end', { freeze: false });
    this.record = act('host.record.do', { record: true });
    this.forget = act('host.record.forget', { record: false });
    this.save = el('a', { class: 'button', href: 'api/room/recording', download: 'room.sqlog', text: t('host.record.save') });
    this.recorded = el('p', { class: 'host-text', role: 'status' });
    this.secret = el('p', { class: 'host-secret', role: 'status' });
    this.newCode = act('host.code.new', { code: true });
    this.noCode = act('host.code.none', { code: false });
    this.drawn = act('host.names.drawn', { typed: false });
    this.typed = act('host.names.typed', { typed: true });
    this.teaching = new Teaching((teach) => this.#do(teach), (found) => this.dispatchEvent(new CustomEvent('leave', { detail: found })), (why) => this.#say(why));
    this.pages = new Rows(el('ul', { class: 'part-list', data: { list: 'pages' } }));
    const page = (/** @type {string} */ which) => el('select', { class: 'input', required: true, 'aria-label': t(`host.links.${which}`) });
    this.one = page('one');
    this.other = page('other');
    this.links = new Rows(el('ul', { class: 'part-list', data: { list: 'links' } }));
    this.list = new Rows(el('ul', { class: 'part-list', data: { list: 'people' } }));
    this.state = el('p', { class: 'part-state', role: 'status' });
    this.note = el('p', { class: 'part-note', role: 'alert', hidden: true });
    this.letIn = el('button', { class: 'button small', type: 'button', hidden: true, on: { click: () => this.#do('let_in') } });
    fill(this,
      el('header', { class: 'part-head' }, el('h1', { class: 'brand' }, icon('logo'), t('host.title')), el('span', { class: 'spring' }), el('button', { class: 'button', type: 'button', text: t('app.title'), on: { click: () => this.dispatchEvent(new CustomEvent('leave', { detail: null })) } })),
      el('main', {},
        el('div', { class: 'part-lead' }, el('p', { text: t('host.intro') }), this.state, this.note),
        this.teaching.node,
        section('pages', this.pages.list),
        section('code', el('p', { class: 'host-text', text: t('host.code.text') }), this.secret, el('div', { class: 'host-form' }, this.newCode, this.noCode, this.drawn, this.typed)),
        section('say', form(() => { const say = this.words.value; this.words.value = ''; return { say }; }, this.words, el('button', { class: 'button primary', text: t('host.say.do') }))),
        section('servent', form(() => ({ slots: value('uploads') }), number('uploads', RULES.slots), el('button', { class: 'button', text: t('host.apply') })), form(() => ({ policy: this.fields.waits.value }), policy('waits'), el('button', { class: 'button', text: t('host.apply') }))),
        section('rules', el('p', { class: 'host-text', text: t('host.rules.text') }), form(() => ({ rules: { slots: value('slots'), degree: value('degree'), ttl: value('ttl'), policy: this.fields.policy.value } }), ...Object.entries(RULES).map(([name, max]) => number(name, max)), policy('policy'), el('button', { class: 'button', text: t('host.rules.do') }))),
        section('loss', el('p', { class: 'host-text', text: t('host.loss.text') }), form(() => ({ loss: value('loss') * 10 }), number('loss', LOSS, 0), el('button', { class: 'button', text: t('host.apply') }))),
        section('freeze', el('p', { class: 'host-text', text: t('host.freeze.text') }), el('div', { class: 'host-form' }, this.freeze, this.thaw)),
        section('record', el('p', { class: 'host-text', text: t('host.record.text') }), this.recorded, el('div', { class: 'host-form' }, this.record, this.save, this.forget)),
        section('links', el('p', { class: 'host-text', text: t('host.links.text') }), form(() => ({ part: [this.one.value, this.other.value] }), this.one, this.other, el('button', { class: 'button', text: t('host.cut') })), this.links.list),
        section('people', this.list.list, this.letIn),
        section('reset', el('p', { class: 'host-text', text: t('host.reset.text') }), el('div', { class: 'host-form' }, el('button', { class: 'button', type: 'button', text: t('host.reset.do'), on: { click: () => { if (confirm(t('host.reset.sure'))) this.#do({ teach: 'reset' }); } } })))));
    this.#ask();
  }
  shown = false;

  /** Which links between pages are cut, and which pages there are to choose from. @param {{at: string, name: string}[]} pages @param {[string, string][]} apart */
  #showLinks(pages, apart) {
    const known = JSON.stringify(pages.map(({ at, name }) => [at, name]));
    if (known !== this.choices) {
      this.choices = known;
      for (const field of [this.one, this.other]) {
        const chosen = field.value;
        fill(field, ...pages.map(({ at, name }) => el('option', { value: at, text: name })));
        field.value = pages.some(({ at }) => at === chosen) ? chosen : '';
      }
    }
    const named = (/** @type {string} */ at) => pages.find((page) => page.at === at)?.name ?? at;
    this.links?.show(apart, t('host.links.none'), (/** @type {[string, string]} */ pair) => ({ key: pair.join(' '), name: pair.map(named).join(' – '), note: '', act: [t('host.mend'), () => this.#do({ join: pair })] }));
  }
  choices = '';
  again = new Again(ASK_MS);

  /** @param {unknown} act */
  async #do(act) {
    this.#say(await tell(act));
    await this.#show();
  }

  /** @param {string} why it could not be done; empty when it was */
  #say(why) {
    setText(this.note, why);
    if (this.note) this.note.hidden = !why;
  }

  async #ask() {
    if (!this.hidden) await this.#show();
    setTimeout(() => this.#ask(), this.again.wait);
  }

  async #show() {
    const answer = await fetch('api/room').catch(() => null);
    if (!answer?.ok) {
      this.again.after(false);
      setText(this.state, answer?.status === 403 ? t('room.locked') : t('room.gone', { seconds: this.again.seconds }));
      return;
    }
    this.again.after(true);
    const { people, view, relayed, rules, loss, frozen, out, recorded, cut, apart, typed, secret, class: told } = await answer.json();
    const { uploads, length } = view.queue;
    const { length: here } = present(people, told.pages);
    setText(this.state, `${t('room.people', { n: here })}. ${t('room.queue', { uploads: uploads.length, waiting: length })}.${relayed?.bytes ? ` ${t('room.relayed', relayed)}.` : ''}`);
    setAttr(this.state, 'data-on', here > 0 && '');
    const now = /** @type {Record<string, number|string>} */ ({ uploads: view.queue.slots, waits: view.queue.policy, ...rules, loss: loss / 10 });
    for (const [name, field] of Object.entries(this.fields)) {
      // What is being typed is not overwritten, nor what was typed and not sent.
      if (field.value === '' || field.value === field.dataset.known) field.value = String(now[name]);
      field.dataset.known = String(now[name]);
    }
    this.teaching?.show(told);
    // What a lesson asks is known once the core is loaded, which may be after the first answer.
    const lesson = this.teaching?.ready ? told.lesson : null;
    this.pages?.show(told.pages, t('host.nobody'), (/** @type {any} */ page) => pageRows({ ...told, lesson, pages: [page] }, (act) => this.#do(act))[0]);
    this.#showLinks(told.pages, apart);
    setText(this.secret, secret ?? t('host.code.free'));
    setText(this.newCode, t(secret ? 'host.code.new' : 'host.code.begin'));
    setText(this.recorded, recorded ? t('host.recorded', recorded) : '');
    for (const [one, on] of /** @type {[any, boolean][]} */ ([[this.record, !recorded], [this.save, recorded], [this.forget, recorded], [this.freeze, !frozen], [this.thaw, frozen], [this.noCode, secret !== null], [this.drawn, typed], [this.typed, !typed]])) one.hidden = !on;
    setText(this.letIn, t('host.in', { n: out }));
    if (this.letIn) this.letIn.hidden = !out;
    const off = cut.map((/** @type {string} */ name) => ({ off: name }));
    this.list?.show([...people, ...off], t('host.nobody'), (/** @type {any} */ one) => (one.off ? {
      key: `off ${one.off}`, name: one.off, note: t('host.cut.off'), act: [t('host.mend'), () => this.#do({ mend: one.off })],
    } : {
      key: one.peer, name: personOf(one.agent) ?? one.agent, note: `${one.peer} · ${t('part.neighbour', one)}`, hue: hueOf(personOf(one.agent) ?? ''),
      act: [t('host.out'), () => this.#do({ put_out: host(one.peer) })],
      also: personOf(one.agent) ? [t('host.cut'), () => this.#do({ cut: personOf(one.agent) })] : undefined,
    }));
  }
}

/** The address of a peer without its port. @param {string} peer */
const host = (peer) => peer.slice(0, peer.lastIndexOf(':')).replace(/^\[|\]$/g, '');

customElements.define('host-screen', HostScreen);
