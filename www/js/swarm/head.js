/** The head of a swarm: its rules, what came of them so far, and its curve against the bound. */
import { el, setAttr, setText } from '#lab/dom.js';
import { Outcomes } from '#lab/outcomes.js';
import { t } from '#lab/strings.js';
import { paintChart } from '#lab/swarm/chart.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Palette } from './look.js' */
/** @import { Session } from '../session/session.js' */

export class Head {
  /** @param {Session} session */
  constructor(session) {
    this.title = el('h2', {});
    this.outcomes = new Outcomes(session);
    this.ratio = el('p', { class: 'bound-ratio' });
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { role: 'img' }));
    this.node = el('section', { class: 'swarm-head' }, el('div', { class: 'swarm-title' }, this.title, this.ratio), this.outcomes.node, el('div', { class: 'chart' }, this.canvas));
  }

  /** @param {SwarmRun} run @param {Palette} colours @param {number} end where the chart ends @param {boolean} words whether words may change now */
  update(run, colours, end, words) {
    paintChart(this.canvas, run, colours, { now: run.now, end });
    if (!words) return;
    setText(this.title, run.side || t(`policy.${run.policy}`));
    setAttr(this.title, 'title', t(`policy.${run.policy}.long`));
    const { counters } = run;
    this.outcomes.update(run);
    setText(this.ratio, verdict(run));
    setAttr(this.ratio, 'data-stuck', run.stuck ? '' : null);
    setAttr(this.canvas, 'aria-label', t('chart.label', { policy: t(`policy.${run.policy}`), verdict: verdict(run), whole: counters.whole, of: counters.wanting }));
  }
}

/** How good it is, in a figure, once that can be seen. @param {SwarmRun} run */
function verdict({ counters, stuck }) {
  if (stuck) return t('verdict.deadlock');
  return t(counters.finished ? 'verdict.done' : 'verdict.finding', { ...counters, ratio: counters.at / counters.bound });
}
