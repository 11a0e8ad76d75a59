/**
 * `<servent-world view="routing" preset="ring" lang="de" height="24rem">`: a
 * world or a lesson of the lab in any page, such as slides or a textbook. It is one module:
 * `<script type="module" src="…/js/world.js"></script>`. What is shown and answered
 * comes as the events `state` and `answer`.
 */

/** Heights of a picture with its time, and of a lesson with its card below them. */
const [HEIGHT, TAUGHT] = ['26rem', '40rem'];

class ServentWorld extends HTMLElement {
  static observedAttributes = ['view', 'preset', 'lesson', 'lang', 'at', 'height'];

  connectedCallback() {
    this.style.display ||= 'block';
    this.frame = document.createElement('iframe');
    Object.assign(this.frame, { title: this.title || this.getAttribute('lesson') || this.getAttribute('preset') || 'Servent', loading: 'lazy' });
    Object.assign(this.frame.style, { border: '0', width: '100%' });
    this.heard = (/** @type {MessageEvent} */ event) => {
      // The frame may have gone on to another site.
      const ours = event.source === this.frame?.contentWindow && event.origin === new URL(import.meta.url).origin;
      const kind = ours ? event.data?.servent : null;
      if (kind === 'state' || kind === 'answer') this.dispatchEvent(new CustomEvent(kind, { detail: event.data }));
    };
    addEventListener('message', this.heard);
    this.attributeChangedCallback();
    this.append(this.frame);
  }

  disconnectedCallback() {
    if (this.heard) removeEventListener('message', this.heard);
    this.frame?.remove();
  }

  attributeChangedCallback() {
    if (!this.frame) return;
    const get = (/** @type {string} */ name) => this.getAttribute(name);
    const args = new URLSearchParams();
    for (const [key, name] of [['p', 'preset'], ['les', 'lesson'], ['t', 'at'], ['lang', 'lang']]) {
      const value = get(name);
      if (value) args.set(key, name === 'at' ? String(Number(value) * 1000) : value);
    }
    this.frame.style.height = get('height') ?? (get('lesson') ? TAUGHT : HEIGHT);
    const address = new URL(`../index.html?embed#1/${get('view') ?? 'routing'}?${args}`, import.meta.url).href;
    if (this.frame.src !== address) this.frame.src = address;
  }
}

customElements.define('servent-world', ServentWorld);
