/** `<time-transport>`: play, step, speed, the clock, and what the state is worth. */
import { el, icon, setAttr, setText } from '#lab/dom.js';
import { clock, times } from '#lab/format.js';
import { isHidden } from '#lab/session/future.js';
import { openDialog } from '#lab/panels/dialog.js';
import { openDone } from '#lab/panels/done.js';
import { t } from '#lab/strings.js';

/** @import { Session } from '../session/session.js' */

export class TimeTransport extends HTMLElement {
  /** @param {Session} session @param {() => void} goLive */
  connect(session, goLive) {
    this.session = session;
    const button = (/** @type {string} */ key, /** @type {string} */ sign, /** @type {() => void} */ run, extra = '') =>
      el('button', { class: `button icon plain ${extra}`, type: 'button', 'aria-label': t(`time.${key}`), title: t(`time.${key}`), data: { do: key }, on: { click: run } }, icon(sign));
    this.playing = button('play', 'play', () => session.clock.toggle(), 'primary play');
    this.speed = el('output', { 'aria-live': 'off' });
    this.clock = el('output', { class: 'clock', 'aria-live': 'off', 'aria-label': t('time.track') });
    this.event = el('span', { class: 'readout event' });
    this.done = el('button', { class: 'button small done', type: 'button', hidden: true, 'aria-haspopup': 'dialog', on: { click: () => openDone(session) } });
    this.digest = el('code', { class: 'readout wide' });
    this.verdict = el('span', { class: 'verdict' });
    this.live = el('button', { class: 'button small live', type: 'button', hidden: true, on: { click: goLive } });
    this.replaceChildren(el('div', { class: 'transport' },
      el('div', { class: 'keys', role: 'group', 'aria-label': t('time.track') },
        button('first', 'first', () => session.clock.seek(session.run?.origin ?? 0), 'wide'),
        button('backNode', 'backNode', () => session.clock.step(-1, true), 'wide'),
        button('back', 'back', () => session.clock.step(-1)),
        this.playing,
        button('forth', 'forth', () => session.clock.step(1)),
        button('forthNode', 'forthNode', () => session.clock.step(1, true), 'wide'),
        button('loss', 'alert', () => session.clock.toLoss(1), 'wide')),
      el('div', { class: 'speed' },
        el('button', { class: 'button small icon plain', type: 'button', 'aria-label': t('time.slower'), title: t('time.slower'), on: { click: () => session.clock.changeSpeed(-1) } }, '−'),
        this.speed,
        el('button', { class: 'button small icon plain', type: 'button', 'aria-label': t('time.faster'), title: t('time.faster'), on: { click: () => session.clock.changeSpeed(1) } }, '+')),
      // Where there is no room for a legend, this is the way to it.
      el('button', { class: 'button icon plain signs-button', type: 'button', 'aria-label': t('keys.signs.picture'), title: t('keys.signs.picture'), 'aria-haspopup': 'dialog', on: { click: () => openDialog(t('keys.signs.picture'), ...session.view.signs()) } }, icon('signs')),
      this.clock, this.event, this.live, this.done, el('span', { class: 'spring' }), this.verdict, this.digest));
    for (const type of ['frame', 'play', 'run', 'known', 'faults']) session.addEventListener(type, () => this.update());
    this.update();
  }

  update() {
    const { session } = this;
    const run = session?.run;
    if (!session || !run) return;
    const sign = session.clock.playing ? 'pause' : 'play';
    if (this.playing.dataset.sign !== sign) {
      this.playing.dataset.sign = sign;
      this.playing.replaceChildren(icon(sign));
      setAttr(this.playing, 'aria-label', t(`time.${sign}`));
      setAttr(this.playing, 'title', t(`time.${sign}`));
    }
    setText(this.speed, times(session.clock.speed));
    setAttr(this.speed, 'data-eased', session.clock.playing && session.clock.ease.now ? '' : null);
    setText(this.clock, clock(run.now - run.origin));
    setText(this.event, t(isHidden() ? 'time.event.hidden' : 'time.event', { i: run.index, n: run.count }));
    const digest = t('time.digest', { digest: run.digest });
    setText(this.digest, digest);
    // Where there is no room for it, it is what the number of the event is worth.
    setAttr(this.event, 'title', digest);
    this.#judge();
    this.done.hidden = session.actions.log.length + session.actions.undone.length === 0;
    setText(this.done, t('done.count', { n: session.actions.log.length }));
    this.live.hidden = !session.live;
    if (session.live) {
      setText(this.live, t(session.live.lost ? 'time.live.waits' : session.live.follow ? 'time.live.on' : 'time.live.off'));
      this.live.disabled = session.live.lost;
      setAttr(this.live, 'aria-pressed', String(session.live.follow));
    }
  }

  /** A replay says how many of its checkpoints agreed. */
  #judge() {
    const run = this.session?.run;
    const told = run?.verified();
    const { checked = 0, total = 0, nodes = null, diverged_at: diverged = null } = told ?? {};
    if (run?.kind === 'trace' && (this.session?.actions.branch ?? 0) > 0) {
      this.verdict.dataset.state = 'branch';
      return void setText(this.verdict, t('whatif.branch'));
    }
    const short = told ? shortOf(told, this.session?.live !== null) : null;
    if (!run || (total === 0 && !short)) return void setText(this.verdict, '');
    const whole = diverged === null && !short && (!nodes || nodes[0] === nodes[1]);
    const state = whole ? 'verified' : 'diverged';
    const text = diverged !== null ? t('time.diverged', { at: clock(diverged - run.origin) }) : short ? t(short, { ...told, at: clock((told?.gap_at ?? 0) - run.origin) }) : t('time.verified', { checked, total, nodes });
    if (this.verdict.textContent === text) return undefined;
    this.verdict.dataset.state = state;
    this.verdict.replaceChildren(icon(whole ? 'check' : 'alert'), text);
    return undefined;
  }
}

/** What a replay does not prove of a recording: the sentence, or nothing. @param {import('../types').Verified} told @param {boolean} grows */
export function shortOf({ damaged, gap_at: gap, unverified, nodes }, grows) {
  if (damaged > 0) return 'time.damaged';
  if (gap !== null && gap !== undefined) return 'time.gap';
  // What still grows has its next checkpoint before it; of several each says it for itself.
  return unverified > 0 && !grows && !nodes ? 'time.tail' : null;
}

customElements.define('time-transport', TimeTransport);
