/** The worked example of a view: what happened in an echo, as a list. CONTRIBUTING.md says what is what. */
import { World } from '#servent';
import { worldOf } from '#lab/core.js';
import { el } from '#lab/dom.js';
import { clock } from '#lab/format.js';
import { Run } from '#lab/session/run.js';

/** @import { Session } from '../session/session.js' */
/** @import { View } from '../views.js' */

/** Its sentences, as every view has them. */
const strings = {
  'view.echo': 'Echo',
  'event.echo.asked': (/** @type {any} */ { n, again }) => (again ? `Question ${n} is asked again.` : `Question ${n} is asked.`),
  'event.echo.echoed': (/** @type {any} */ { n }) => `Question ${n} is echoed.`,
  'event.echo.answered': (/** @type {any} */ { n }) => `Question ${n} is answered.`,
  'event.link.lost': (/** @type {any} */ { n, answer }) => (answer ? `The answer to question ${n} is lost.` : `Question ${n} is lost.`),
};

/** What happened up to the cursor, a line each. */
class EchoPane extends HTMLElement {
  #shown = '';
  /** @type {Session|null} */ session = null;

  /** @param {Session} session */
  connect(session) { this.session = session; this.update(); }
  restart() { this.#shown = ''; this.update(); }
  update() {
    const run = this.session?.run;
    if (!run || this.#shown === `${run.index}/${run.digest}`) return;
    this.#shown = `${run.index}/${run.digest}`;
    const line = (/** @type {number} */ i) => {
      const record = run.record(i);
      const [[area, body]] = Object.entries(record.event);
      const say = /** @type {Record<string, any>} */ (strings)[`event.${area}.${body.what}`];
      return el('li', { text: `${clock(record.at)} ${run.node(record.node)?.name}: ${say(body)}` });
    };
    this.replaceChildren(el('ol', { class: 'echo-list' }, ...Array.from({ length: run.index }, (_, i) => line(i))));
  }
}
customElements.define('echo-pane', EchoPane);

/** @type {View} */
export const echo = {
  id: 'echo',
  speed: 0.1,
  strings: /** @type {any} */ (strings),
  presets: () => World.presets('echo'),
  fromScenario: (scenario) => new Run(worldOf('echo', scenario)),
  fromWorld: ({ scenario, claim }) => new Run(worldOf('echo', scenario, claim)),
  variants: () => [],
  pane: () => /** @type {any} */ (el('echo-pane')),
  outcomes: () => [],
  facts: () => [],
  sign: () => null,
  gestures: () => [],
  action: () => null,
  keys: () => ({}),
  sheet: [],
  signs: () => [],
  form: () => [],
  fitting: (draft) => draft,
};
