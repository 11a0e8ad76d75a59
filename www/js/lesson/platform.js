/**
 * A lesson inside a learning platform, in the package that `servent lesson pack`
 * writes. The platform's side of SCORM 1.2 is an object `API` in a window around
 * the page, or in the one that opened it. It is told where the learner is, when all
 * is answered, and how many of the first answers were right, in percent.
 */
import { Lesson } from '#servent';
import { t } from '#lab/strings.js';

/** @import { Classroom } from './lesson.js' */
/** @typedef {Record<'LMSInitialize'|'LMSFinish'|'LMSCommit'|'LMSGetValue', (name: string) => any> & {LMSSetValue: (name: string, value: string) => any}} Api */

/** The platform may be so many windows away. */
const FAR = 7;

/** The lesson of a package, as its address names it. @param {string} search of the address */
export function lessonInPackage(search) {
  const asked = new URLSearchParams(search);
  return asked.has('platform') ? asked.get('lesson') : null;
}

/** @param {Window|null} from @returns {Api|null} */
function above(from) {
  for (let far = 0; from && far < FAR; far += 1) {
    try {
      const { API } = /** @type {any} */ (from);
      if (API) return API;
    } catch {
      // A window of another origin says nothing.
      return null;
    }
    if (from.parent === from) return null;
    from = from.parent;
  }
  return null;
}

/** The time of a session as SCORM writes it. @param {number} ms */
export function sessionTime(ms) {
  const seconds = Math.floor(ms / 1000);
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  return `${String(Math.floor(seconds / 3600)).padStart(4, '0')}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

export class Platform {
  /** By step: whether what was said first was right; of a goal, whether it was ever reached. @type {Record<number, boolean>} */
  #said = {};
  #since = Date.now();
  #over = false;

  /** @param {Classroom} room @param {Api} api */
  constructor(room, api) {
    this.room = room;
    this.api = api;
    api.LMSInitialize('');
    try {
      this.#said = JSON.parse(api.LMSGetValue('cmi.suspend_data') || '{}');
    } catch {
      // Something else has been kept there: the learner begins anew.
    }
    if (api.LMSGetValue('cmi.core.lesson_status') === 'not attempted') api.LMSSetValue('cmi.core.lesson_status', 'incomplete');
    for (const type of ['step', 'reply']) room.addEventListener(type, () => this.#tell());
    addEventListener('pagehide', () => this.#finish());
  }

  /** Where the learner was the last time, from 0. */
  get step() { return Math.max(0, Math.floor(Number(this.api.LMSGetValue('cmi.core.lesson_location'))) || 0); }

  #tell() {
    const { room, api } = this;
    if (!room.view || this.#over) return;
    for (const [step, { verdict }] of room.answers) this.#said[step] ??= verdict.right;
    if (room.attempt) this.#said[room.step] = room.attempt.right || this.#said[room.step] === true;
    const asking = room.view.steps.flatMap(({ task }, step) => (task ? [step] : []));
    const said = asking.filter((step) => step in this.#said);
    api.LMSSetValue('cmi.core.lesson_location', String(room.step));
    api.LMSSetValue('cmi.suspend_data', JSON.stringify(this.#said));
    if (said.length === asking.length) {
      const right = said.filter((step) => this.#said[step]).length;
      api.LMSSetValue('cmi.core.score.min', '0');
      api.LMSSetValue('cmi.core.score.max', '100');
      api.LMSSetValue('cmi.core.score.raw', String(Math.round((100 * right) / asking.length)));
      api.LMSSetValue('cmi.core.lesson_status', 'completed');
    }
    api.LMSCommit('');
  }

  #finish() {
    if (this.#over) return;
    this.#over = true;
    this.api.LMSSetValue('cmi.core.session_time', sessionTime(Date.now() - this.#since));
    this.api.LMSFinish('');
  }
}

/**
 * Begins the lesson of a package where the learner was the last time. Without a
 * platform around it is an ordinary lesson.
 * @param {Classroom} room @param {string} file beside the page
 */
export async function beginInPlatform(room, file) {
  const answer = await fetch(file);
  if (!answer.ok) throw new Error(t('platform.missing', { file }));
  const lesson = Lesson.read(await answer.text());
  const api = above(window) ?? above(window.opener);
  const platform = api ? new Platform(room, api) : null;
  return room.begin(lesson, platform?.step ?? 0);
}
