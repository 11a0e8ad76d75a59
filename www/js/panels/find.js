/** `<find-bar>`: what is looked for, beside the picture: how much of it there is, and the way to the list. */
import { el, setText } from '#lab/dom.js';
import { count } from '#lab/format.js';
import { t } from '#lab/strings.js';

/** @import { Session } from '../session/session.js' */

export class FindBar extends HTMLElement {
  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.input = el('input', { class: 'input', type: 'search', 'aria-label': t('events.filter'), on: { input: () => session.find(this.input.value) } });
    this.shown = el('output', { class: 'figures', 'aria-live': 'off' });
    this.replaceChildren(this.input, this.shown, el('span', { class: 'spring' }),
      el('button', { class: 'button small', type: 'button', data: { find: 'list' }, text: t('find.list'), on: { click: () => session.setMode('events') } }),
      el('button', { class: 'button small', type: 'button', data: { find: 'end' }, text: t('find.end'), on: { click: () => session.find('') } }));
    for (const type of ['frame', 'find', 'view']) session.addEventListener(type, () => this.update());
    this.update();
  }

  update() {
    const { session } = this;
    if (!session) return;
    const { query } = session.sought;
    // A person who is typing keeps the field, also when it is empty.
    this.hidden = session.mode === 'events' || (query === '' && document.activeElement !== this.input);
    if (this.hidden || !session.run) return;
    if (this.input.value.trim() !== query) this.input.value = query;
    const find = session.sought.in(session.run);
    setText(this.shown, query === '' || !find ? '' : t('find.count', { found: count(find.count), of: count(session.run.count), more: !find.done }));
  }
}

customElements.define('find-bar', FindBar);
