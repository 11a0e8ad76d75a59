/** Fifty seeds of the open scenario: how its outcome is spread, side by side for each way to run it; a click opens one. */
import { el, setText, svg } from '#lab/dom.js';
import { count, lasted, percent } from '#lab/format.js';
import { openDialog } from '#lab/panels/dialog.js';
import { t } from '#lab/strings.js';
import { FIGURES } from '#lab/sweep/count.js';
import { Sweep } from '#lab/sweep/sweep.js';

/** @import { Session } from '../session/session.js' */
/** @import { World } from './sweep.js' */
/** @import { Figure } from './count.js' */

/** So many seeds are run. */
const SEEDS = 50;
/** The policies of an upload queue. */
const POLICIES = ['text', 'adaptive'];
/** A strip: its size in units of its own. */
const [WIDE, HIGH, PAD] = [320, 44, 10];
/** Dots that would lie on one another are stacked so far apart. */
const STACK = 5.5;

/** The ways to run a scenario that are set side by side. @param {Session} session @returns {{name: string, scenario: any}[]} */
function waysOf({ view, scenario }) {
  if (view.id === 'queue') return POLICIES.map((policy) => ({ name: t(`compare.${policy}`), scenario: { .../** @type {any} */ (scenario), servers: /** @type {any} */ (scenario).servers.map((/** @type {any} */ server) => ({ ...server, queue: { ...server.queue, policy } })) } }));
  return view.id === 'routing' ? [{ name: '', scenario }] : view.variants(scenario);
}

/** @param {Figure} figure @param {number|null|undefined} value */
const words = ({ kind }, value) => (value === null || value === undefined ? t('sweep.never') : kind === 'time' ? lasted(value) : kind === 'share' ? percent(value) : count(value));

/** How bad a value is; never is the worst. @param {Figure} figure @param {number|null|undefined} value */
const badness = ({ worse }, value) => (value === null || value === undefined ? Infinity : worse * value);

/** Opens the panel for what is looked at. @param {Session} session */
export function sweepDialog(session) {
  const { view, scenario } = session;
  if (!scenario) return session.notice(t('sweep.trace'));
  session.clock.pause();
  const ways = waysOf(session);
  const first = Number(/** @type {any} */ (scenario).seed) || 1;
  const worlds = Array.from({ length: SEEDS * ways.length }, (_, i) => {
    const [seed, way] = [first + Math.floor(i / ways.length), i % ways.length];
    return /** @type {World} */ ({ seed, way, scenario: { ...ways[way].scenario, seed } });
  });
  const state = el('output', { class: 'sweep-state', 'aria-live': 'polite' });
  const bar = el('progress', { max: worlds.length, value: 0, 'aria-label': t('sweep.progress') });
  const body = el('div', { class: 'sweep-ways' });
  const open = (/** @type {World} */ world) => {
    dialog.close();
    if (session.mode === 'compare') session.setMode('single');
    session.openScenario({ ...world.scenario, title: t('sweep.title.of', { title: session.title, seed: world.seed }) });
  };
  const charts = ways.map(({ name }, way) => new Way(name, FIGURES[view.id], worlds.filter((world) => world.way === way), open));
  const failed = el('div', { class: 'sweep-failed', hidden: true });
  body.append(...charts.map((chart) => chart.node));
  let due = 0;
  const show = () => {
    due = 0;
    bar.value = sweep.done;
    const bad = worlds.filter(({ why }) => why !== undefined);
    const said = sweep.done < worlds.length ? t('sweep.state', { done: sweep.done, of: worlds.length }) : t('sweep.done', { n: SEEDS });
    setText(state, bad.length ? `${said}, ${t('sweep.failed', { n: bad.length })}` : said);
    if (bad.length !== failed.querySelectorAll('li').length) tellFailed(failed, bad, ways, open);
    const scale = spread(view.id, worlds);
    for (const chart of charts) chart.draw(scale);
  };
  const sweep = new Sweep(view.id, worlds, () => { due ||= requestAnimationFrame(show); });
  const dialog = openDialog(t('sweep.title', { n: SEEDS }), el('p', { class: 'sweep-hint', text: t('sweep.hint') }), el('div', { class: 'sweep-head' }, bar, state), failed, body);
  dialog.classList.add('sweep');
  dialog.addEventListener('close', () => sweep.stop());
  show();
  sweep.run().then(show, (why) => { show(); session.guard(() => { throw why; }); });
  return undefined;
}

/** Worlds that could not be run, each with why; a click opens one. @param {HTMLElement} list @param {World[]} bad @param {{name: string}[]} ways @param {(world: World) => void} open */
function tellFailed(list, bad, ways, open) {
  list.hidden = false;
  list.replaceChildren(el('h3', { text: t('sweep.failed', { n: bad.length }) }), el('ul', {}, ...bad.map((world) => el('li', {},
    el('button', { class: 'button small', type: 'button', data: { seed: world.seed }, text: t('sweep.seed', { seed: world.seed, way: ways[world.way].name }), on: { click: () => open(world) } }),
    el('span', { text: world.why ?? '' })))));
}

/** The least and the most of every figure, the same for all ways. @param {string} view @param {World[]} worlds */
function spread(view, worlds) {
  return Object.fromEntries(FIGURES[view].map(({ key }) => {
    const all = worlds.map(({ figures }) => figures?.[key]).filter((value) => typeof value === 'number');
    return [key, { least: Math.min(...all), most: Math.max(...all) }];
  }));
}

/** One way to run the scenario: a strip for each figure, and which seed is the worst. */
class Way {
  /** @param {string} name @param {Figure[]} figures @param {World[]} worlds @param {(world: World) => void} open */
  constructor(name, figures, worlds, open) {
    this.worlds = worlds;
    this.open = open;
    this.rows = figures.map((figure) => {
      const strip = svg('svg', { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: 'xMinYMid meet', role: 'img' });
      const median = el('b', {});
      const worst = el('button', { class: 'button small', type: 'button', hidden: true });
      return { figure, strip, median, worst, node: el('tr', { data: { figure: figure.key } }, el('th', { scope: 'row', text: t(`sweep.${figure.key}`) }), el('td', {}, median), el('td', { class: 'strip' }, strip), el('td', {}, worst)) };
    });
    this.node = el('section', {}, name ? el('h3', { text: name }) : null, el('table', { class: 'sweep-table' },
      el('thead', {}, el('tr', {}, ...['figure', 'median', 'spread', 'worst'].map((key) => el('th', { scope: 'col', text: t(`sweep.col.${key}`) })))),
      el('tbody', {}, ...this.rows.map(({ node }) => node))));
  }

  /** @param {Record<string, {least: number, most: number}>} scale */
  draw(scale) {
    const done = this.worlds.filter(({ figures }) => figures);
    if (!done.length) return;
    for (const { figure, strip, median, worst } of this.rows) {
      const value = (/** @type {World} */ world) => world.figures?.[figure.key];
      const order = done.toSorted((a, b) => badness(figure, value(a)) - badness(figure, value(b)) || a.seed - b.seed);
      const [middle, last] = [order[order.length >> 1], /** @type {World} */ (order.at(-1))];
      setText(median, words(figure, value(middle)));
      worst.hidden = false;
      setText(worst, t('sweep.worst', { value: words(figure, value(last)), seed: last.seed }));
      worst.onclick = () => this.open(last);
      strip.setAttribute('aria-label', t('sweep.strip', { median: words(figure, value(middle)), best: words(figure, value(order[0])), worst: words(figure, value(last)), n: done.length }));
      this.#dots(strip, figure, done, { ...scale[figure.key], middle, last });
    }
  }

  /** @param {SVGElement} strip @param {Figure} figure @param {World[]} done @param {{least: number, most: number, middle: World, last: World}} mark */
  #dots(strip, figure, done, { least, most, middle, last }) {
    const span = Math.max(1e-9, most - least);
    const x = (/** @type {number|null|undefined} */ v) => (typeof v === 'number' ? PAD + ((v - least) / span) * (WIDE - 3 * PAD) : WIDE - PAD);
    /** @type {Map<number, number>} */
    const heaps = new Map();
    const place = (/** @type {World} */ world) => Math.round(x(world.figures?.[figure.key]) / STACK);
    const highest = Math.max(...[...Map.groupBy(done, place).values()].map((heap) => heap.length));
    const step = Math.min(STACK - 1, (HIGH - 12) / highest);
    const dots = done.toSorted((a, b) => a.seed - b.seed).map((world) => {
      const at = place(world);
      const height = heaps.get(at) ?? 0;
      heaps.set(at, height + 1);
      const dot = svg('circle', { cx: at * STACK, cy: HIGH - 7 - height * step, r: world === last ? 4 : 2.6, class: world === last ? 'worst' : world === middle ? 'middle' : '' },
        svg('title', {}, t('sweep.dot', { seed: world.seed, value: words(figure, world.figures?.[figure.key]) })));
      dot.addEventListener('click', () => this.open(world));
      return dot;
    });
    const at = x(middle.figures?.[figure.key]);
    strip.replaceChildren(svg('line', { x1: 0, x2: WIDE, y1: HIGH - 2, y2: HIGH - 2 }), svg('line', { x1: at, x2: at, y1: 2, y2: HIGH - 2, class: 'median' }), ...dots);
  }
}
