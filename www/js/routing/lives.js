/** How long the tables of all nodes live: a slider that tells the story anew. */
import { el, setAttr, setText } from '#lab/dom.js';
import { span } from '#lab/format.js';
import { t } from '#lab/strings.js';

/** @import { RoutingRun } from './run.js' */
/** @import { Session } from '../session/session.js' */

/** What can be chosen, in seconds. */
const CHOICES = [5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600];
/** The way to a servent is kept three times as long as that of a query. */
const PUSH = 3;

/** @param {any} scenario @param {number} us */
export function living(scenario, us) {
  const config = { ...scenario.config, query_life: us, duplicate_life: us, push_life: PUSH * us };
  return { ...scenario, config };
}

export class Lives {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.out = el('output', {});
    this.input = el('input', { type: 'range', min: 0, max: CHOICES.length - 1, step: 1, 'aria-label': t('lives.label') });
    this.node = el('label', { class: 'routing-lives', title: t('lives.long') }, el('span', { text: t('lives.label') }), this.input, this.out);
    this.input.addEventListener('input', () => this.#show(CHOICES[this.input.valueAsNumber] * 1e6));
    this.input.addEventListener('change', () => this.#apply(CHOICES[this.input.valueAsNumber] * 1e6));
  }

  /** @param {RoutingRun} run */
  update(run) {
    if (document.activeElement === this.input) return;
    const life = Number(run.told.config.query_life ?? 600e6);
    let best = 0;
    CHOICES.forEach((s, i) => { if (Math.abs(Math.log(s * 1e6) - Math.log(life)) < Math.abs(Math.log(CHOICES[best] * 1e6) - Math.log(life))) best = i; });
    if (this.input.valueAsNumber !== best) this.input.value = String(best);
    this.#show(life);
  }

  /** @param {number} us */
  #show(us) {
    const range = t('lives.range', { life: span(us), most: span(2 * us) });
    setText(this.out, range);
    setAttr(this.input, 'aria-valuetext', range);
  }

  /** The same story with other tables, at the same moment. @param {number} us */
  #apply(us) {
    const { session } = this;
    const { scenario, run, title, text } = session;
    if (!scenario || !run) return;
    const at = run.now;
    const { playing } = session.clock;
    session.openScenario({ ...living(scenario, us), title, text });
    session.clock.seek(at);
    if (playing) session.clock.play();
  }
}
