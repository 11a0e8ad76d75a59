/** `<queue-pane>`: one board, or two side by side. */
import { el } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import '#lab/board/queue-board.js';

/** @import { QueueBoard } from './queue-board.js' */
/** @import { QueueRun } from './run.js' */
/** @import { Session } from '../session.js' */

export class QueuePane extends HTMLElement {
  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.boards = /** @type {QueueBoard[]} */ ([el('queue-board'), el('queue-board', { hidden: true })]);
    this.replaceChildren(...this.boards);
    this.boards.forEach((board, i) => board.connect(session, () => /** @type {QueueRun|null} */ (session.runs()[i] ?? null), t('view.queue')));
  }

  /** Another run, or another way to look at it. */
  restart() {
    const { session } = this;
    if (!session) return;
    const two = session.mode === 'compare' && session.other !== null && session.scenario;
    const names = two ? session.view.variants(session.scenario).map((way) => way.name) : [];
    this.boards?.forEach((board, i) => {
      board.hidden = i === 1 && !two;
      board.name(names[i] ?? null);
      board.restart();
    });
  }

  reveal() { this.querySelector('.card[data-selected]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }); }

  update() {
    this.boards?.forEach((board) => board.update());
  }
}

customElements.define('queue-pane', QueuePane);
