/** The head of a swarm: its rules, what came of them so far, and its curve against the bound. */
import { el, setAttr, setText } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import { paintChart } from '#lab/swarm/chart.js';

/** @import { SwarmRun } from './run.js' */
/** @import { Palette } from './look.js' */

export class Head {
  constructor() {
    this.title = el('h2', {});
    this.figures = el('p', { class: 'figures' });
    this.ratio = el('p', { class: 'bound-ratio' });
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { role: 'img' }));
    this.node = el('section', { class: 'swarm-head' }, el('div', { class: 'swarm-title' }, this.title, this.ratio), this.figures, el('div', { class: 'chart' }, this.canvas));
  }

  /** @param {SwarmRun} run @param {Palette} colours @param {number} end where the chart ends @param {boolean} words whether words may change now */
  update(run, colours, end, words) {
    paintChart(this.canvas, run, colours, { now: run.now, end });
    if (!words) return;
    setText(this.title, t(`policy.${run.policy}`));
    setAttr(this.title, 'title', t(`policy.${run.policy}.long`));
    const { counters, outcome } = run;
    const figures = t('swarm.tally', { ...counters, copies: run.copies, of: counters.wanting });
    setText(this.figures, figures);
    setAttr(this.figures, 'title', figures);
    setText(this.ratio, verdict(run));
    setAttr(this.ratio, 'data-stuck', outcome.deadlocked === null ? null : '');
    setAttr(this.canvas, 'aria-label', t('chart.label', { policy: t(`policy.${run.policy}`), verdict: verdict(run), whole: counters.whole, of: counters.wanting }));
  }
}

/** How good it was, in a figure; once that is known. @param {SwarmRun} run */
function verdict({ outcome, explored }) {
  if (outcome.deadlocked !== null && outcome.deadlocked !== undefined) return t('verdict.deadlock');
  if (outcome.finished && outcome.at !== null) return t('verdict.done', { at: outcome.at, bound: outcome.bound, ratio: outcome.ratio / 1000 });
  return t(explored ? 'verdict.unfinished' : 'verdict.finding', { bound: outcome.bound });
}
