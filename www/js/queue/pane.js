/** `<queue-pane>`: the queue of one server, or two side by side. */
import { el } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import '#lab/queue/server-queue.js';

/** @import { ServerQueue } from './server-queue.js' */
/** @import { QueueRun } from './run.js' */
/** @import { Session } from '../session/session.js' */

export class QueuePane extends HTMLElement {
  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.queues = /** @type {ServerQueue[]} */ ([el('server-queue'), el('server-queue', { hidden: true })]);
    this.replaceChildren(...this.queues);
    this.queues.forEach((queue, i) => queue.connect(session, () => /** @type {QueueRun|null} */ (session.runs()[i] ?? null), t('view.queue')));
  }

  /** Another run, or another way to look at it. */
  restart() {
    const { session } = this;
    if (!session) return;
    const two = session.mode === 'compare' && session.other !== null;
    const names = !two ? [] : session.scenario && !session.actions.beside ? session.view.variants(session.scenario).map((way) => way.name) : session.runs().map(({ side }) => side);
    this.queues?.forEach((queue, i) => {
      queue.hidden = i === 1 && !two;
      queue.name(names[i] ?? null);
      queue.restart();
    });
  }

  reveal() { this.querySelector('.card[data-selected]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }); }

  update() {
    this.queues?.forEach((queue) => queue.update());
  }
}

customElements.define('queue-pane', QueuePane);
