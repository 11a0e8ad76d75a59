/**
 * The picture of a lesson for paper: its first question as it is asked, drawn in a
 * world of its own, so that what a teacher looks at meanwhile stays as it is.
 */
import { el } from '#lab/dom.js';
import { names } from '#lab/lesson/marks.js';
import { drawing } from '#lab/open/picture.js';
import { Session } from '#lab/session/session.js';
import { hide, isHidden } from '#lab/session/future.js';
import { t } from '#lab/strings.js';
import { onPaper } from '#lab/theme.js';

/** @import { Classroom } from './lesson.js' */

/** As it is drawn, in pixels; and how wide it is on paper, in pixels of print: 174 mm. Its smallest letters have more than 6 pt there. */
const [WIDTH, HEIGHT, PRINTED] = [840, 500, 658];
/** What a picture writes a little later may still read its world for so long, in milliseconds. */
const LATER_MS = 1000;

/** @param {Classroom} room @returns {HTMLElement} */
export function scene(room) {
  const { lesson, view, session: shown } = room;
  if (!lesson || !view) throw new Error(t('lesson.missing'));
  const step = Math.max(0, view.steps.findIndex(({ task }) => Boolean(task)));
  const session = new Session(shown.view);
  session.openScenario(lesson.scenario(step, {}));
  session.view.opened?.(session);
  session.lesson = { id: view.id, step, names: names(view.steps[step].text) };
  const before = isHidden();
  // What will happen is asked.
  hide(true);
  try {
    session.clock.seek(view.steps[step].at ?? 0);
    const { text } = onPaper(() => drawn(session));
    return el('figure', {}, el('img', { alt: '', width: PRINTED, height: Math.round((PRINTED * HEIGHT) / WIDTH), src: `data:image/svg+xml,${encodeURIComponent(text)}` }));
  } finally {
    hide(before);
    const { run } = session;
    session.run = null;
    setTimeout(() => run?.free(), LATER_MS);
  }
}

/** @param {Session} session */
function drawn(session) {
  const pane = session.view.pane();
  Object.assign(pane.style, { position: 'fixed', inset: '0 auto auto 0', width: `${WIDTH}px`, height: `${HEIGHT}px` });
  pane.connect(session);
  session.emit('lesson');
  // Where it stands, all rules of the page hold for it.
  document.querySelector('.panes')?.append(pane);
  try {
    pane.restart();
    pane.update();
    return drawing(pane, session.title);
  } finally {
    pane.remove();
  }
}
