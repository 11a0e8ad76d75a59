/** What the host has for teaching: the lesson and its steps, who has committed to what, and how each person is. */
import { el, fill } from '#lab/dom.js';
import { language } from '#lab/language.js';
import { load } from '#lab/core.js';
import { marked } from '#lab/lesson/marks.js';
import { answersButtons } from '#lab/peer/answers.js';
import { Pseudonyms } from '#lab/peer/commits.js';
import { hueOf } from '#lab/peer/names.js';
import { SILENT_S } from '#lab/peer/present.js';
import { lessonOf, paragraphs, tallies } from '#lab/peer/steps.js';
import { t } from '#lab/strings.js';
import { Groups } from '#servent';

/** After so many seconds without a touch a person is idle. */
const IDLE_S = 60;
/** The lesson whose arrivals are shown under both rules. */
const LINE = 'the-line';

/** @typedef {{at: string, name: string, away: number, hidden: boolean, quiet: number, step: number, commits: Record<number, number>, wrong_twice: boolean, tried: {held: number, direct: boolean|null}|null}} Page */

export class Teaching {
  #shown = '';

  /** @param {(act: unknown) => Promise<void>} act @param {(found: any) => void} leave to the lab, with something to look at @param {(why: string) => void} say why there is nothing to look at */
  constructor(act, leave, say) {
    this.act = (/** @type {unknown} */ teach) => act({ teach });
    this.leave = leave;
    this.say = say;
    this.node = el('section', { class: 'host-lesson', 'aria-label': t('host.lesson') });
    load().then(() => { this.ready = true; this.#shown = ''; });
  }
  ready = false;
  pseudonyms = new Pseudonyms();

  /** @param {{pages: Page[], lesson: any}} told */
  show({ pages, lesson: going }) {
    const shown = JSON.stringify([going, pages.map(({ name, commits, quiet }) => [name, commits, quiet > SILENT_S])]);
    if (!this.ready || shown === this.#shown) return;
    this.#shown = shown;
    fill(this.node, el('h2', { text: t('host.lesson') }), ...(going ? this.#going(going, pages) : this.#choose()));
  }

  /** @param {string} name @param {unknown} act */
  #button(name, act, { primary = false, off = false } = {}) {
    return el('button', { class: `button${primary ? ' primary' : ''}`, type: 'button', text: t(name), disabled: off, data: { teach: name }, on: { click: () => this.act(act) } });
  }

  #choose() {
    const rows = Groups.all(language()).map((one) => el('li', {}, el('span', { class: 'part-words' }, el('b', { text: one.title }), el('small', {}, ...marked(`${one.text} ${one.needs}`)), el('small', { text: t('lesson.minutes', { n: one.minutes }) })),
      el('span', { class: 'part-acts' }, el('button', { class: 'button small', type: 'button', text: t('host.lesson.begin'), 'aria-label': `${t('host.lesson.begin')}: ${one.title}`, data: { begin: one.id }, on: { click: () => this.act({ lesson: one.id }) } }))));
    return [el('p', { class: 'host-text', text: t('host.lesson.text') }), el('ul', { class: 'part-list' }, ...rows)];
  }

  /** @param {any} going @param {Page[]} pages */
  #going(going, pages) {
    const lesson = lessonOf(going.id);
    const { step, own } = going;
    const one = lesson.steps[step];
    const here = pages.filter(({ quiet }) => quiet <= SILENT_S);
    const missing = here.filter(({ commits }) => commits[step] === undefined);
    const last = step + 1 >= lesson.steps.length;
    const explains = ['explain', 'debrief'].includes(one.do);
    return [
      el('p', { class: 'class-name' }, el('strong', { text: lesson.title }), ` ${t('lesson.step', { n: step + 1, of: lesson.steps.length })} · ${t(`class.${one.do}`)}`),
      ...paragraphs(one.text),
      going.rate ? el('p', { class: 'host-text host-rate', text: t('host.lesson.rate', going) }) : null,
      one.choices.length ? el('p', { class: 'host-committed', role: 'status' }, el('strong', { text: t('host.committed', { n: here.length - missing.length, of: here.length }) }), missing.length ? ` ${t('host.missing', { names: missing.map(({ name }) => name).join(', ') })}` : null) : null,
      ...tallies(lesson, going, step),
      el('div', { class: 'host-form' }, this.#button('lesson.back', { step: step - 1 }, { off: step === 0 }), this.#button('lesson.next', { step: step + 1 }, { primary: true, off: last }),
        this.#button(own ? 'host.pace.host' : 'host.pace.own', { own_pace: !own }), explains ? this.#button('host.count', 'count') : null, this.#button('host.lesson.end', { lesson: null })),
      explains ? el('div', { class: 'host-form' }, ...answersButtons(lesson, going, () => this.pseudonyms.drawn(going.run, pages))) : null,
      one.do === 'debrief' ? el('div', { class: 'host-form' }, this.#look('host.debrief', (tape) => tape), going.id === LINE ? this.#look('host.arrivals', (tape) => this.#arrivals(tape, going.since)) : null) : null,
    ].filter(Boolean);
  }

  /** @param {string} name @param {(tape: Uint8Array) => any} of */
  #look(name, of) {
    const click = async () => {
      const answer = await fetch('api/room/recording').catch(() => null);
      const found = answer?.ok ? of(new Uint8Array(await answer.arrayBuffer())) : null;
      this.say(found ? '' : t(answer ? (answer.status === 403 ? 'room.locked' : 'class.unknown') : 'room.silent'));
      if (found) this.leave(found);
    };
    return el('button', { class: 'button primary', type: 'button', text: t(name), data: { teach: name }, on: { click } });
  }

  /** @param {Uint8Array} tape @param {number} since */
  #arrivals(tape, since) {
    const scenario = Groups.arrivals(tape, since);
    if (!scenario) return null;
    scenario.title = t('class.line');
    scenario.text = t('class.line.text');
    scenario.variants.forEach((/** @type {any} */ variant) => { variant.name = t(`host.policy.${variant.policy}`); });
    return { scenario };
  }
}

/** How a person is, in words. @param {Page} page @param {any} going */
export function stateOf({ away, hidden, quiet, commits, wrong_twice: wrong, tried }, going) {
  const asks = going && lessonOf(going.id)?.steps[going.step]?.choices.length;
  const words = [
    quiet > SILENT_S ? t('host.silent', { n: quiet }) : hidden ? t('host.hidden') : away > IDLE_S ? t('host.idle', { n: away }) : t('host.active'),
    asks && commits[going.step] === undefined ? t('host.uncommitted') : null,
    wrong ? t('host.wrong') : null,
    tried ? t('host.tried', tried) : null,
  ];
  return words.filter(Boolean).join(' · ');
}

/** Rows of how each person is. @param {{pages: Page[], lesson: any, mirrored: string|null}} told @param {(act: unknown) => void} act */
export const pageRows = ({ pages, lesson, mirrored }, act) => pages.map((page) => ({
  key: page.at, name: page.name, hue: hueOf(page.name), note: stateOf(page, lesson),
  act: /** @type {[string, () => void]} */ (page.at === mirrored ? [t('host.mirror.end'), () => act({ teach: { mirror: null } })] : [t('host.mirror'), () => act({ teach: { mirror: page.at } })]),
}));
