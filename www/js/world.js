/**
 * `<servent-world view="routing" preset="ring" lang="de" height="24rem">`: a
 * world of the lab in any page, such as slides or a textbook. It is one module:
 * `<script type="module" src="…/js/world.js"></script>`. What is shown and answered
 * comes as the events `state` and `answer`.
 */
class ServentWorld extends HTMLElement {
  static observedAttributes = ['view', 'preset', 'lesson', 'lang', 'at'];

  connectedCallback() {
    this.style.display ||= 'block';
    this.frame = document.createElement('iframe');
    Object.assign(this.frame, { title: this.title || this.getAttribute('preset') || 'Servent', loading: 'lazy' });
    Object.assign(this.frame.style, { border: '0', width: '100%', height: this.getAttribute('height') ?? '26rem' });
    this.append(this.frame);
    this.heard = (/** @type {MessageEvent} */ event) => {
      const kind = event.source === this.frame?.contentWindow ? event.data?.servent : null;
      if (kind === 'state' || kind === 'answer') this.dispatchEvent(new CustomEvent(kind, { detail: event.data }));
    };
    addEventListener('message', this.heard);
    this.attributeChangedCallback();
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
    this.frame.src = new URL(`../index.html?embed#1/${get('view') ?? 'routing'}?${args}`, import.meta.url).href;
  }
}

customElements.define('servent-world', ServentWorld);
