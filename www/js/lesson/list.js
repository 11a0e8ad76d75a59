/** The lessons there are, and how far one has come in each. */
import { Lesson } from '#servent';
import { el, icon } from '#lab/dom.js';
import { language } from '#lab/language.js';
import { answersBar } from '#lab/lesson/answers.js';
import { progress } from '#lab/lesson/lesson.js';
import { marked } from '#lab/lesson/marks.js';
import { openDialog } from '#lab/panels/dialog.js';
import { t } from '#lab/strings.js';
import { VIEWS } from '#lab/views.js';

/** @import * as T from '../types' */
/** @import { Classroom } from './lesson.js' */

/** Three courses, each of the lessons of one protocol or of two; docs/course.md says what they are for. */
export const COURSES = [{ id: 'waiting', views: ['queue'] }, { id: 'finding', views: ['routing', 'meet'] }, { id: 'sharing', views: ['unicast', 'swarm'] }];

/** @param {Classroom} room */
export function lessonList(room) {
  const all = Lesson.all(language());
  const card = (/** @type {T.LessonView} */ view) => {
    const come = progress(view.id);
    const far = come === 'done' ? t('lesson.done') : come !== null ? t('lesson.begun', { n: Number(come) + 1, of: view.steps.length }) : t('lesson.minutes', { n: view.minutes });
    return el('button', {
      class: 'preset', type: 'button', data: { open: view.id }, 'aria-pressed': String(room.view?.id === view.id),
      on: { click: () => { dialog.close(); room.open(view.id, come && come !== 'done' ? Number(come) : 0); } },
    }, el('strong', {}, come === 'done' ? icon('check') : null, view.title), el('span', {}, ...marked(view.text)), el('span', { class: 'lesson-far', text: `${t(view.exit_test ? 'lesson.test' : `lesson.help.${view.help}`)} · ${far}` }));
  };
  // What a protocol teaches comes in two rounds; the test of a course stands behind its lessons.
  const part = (/** @type {string} */ id) => {
    const views = all.filter((view) => view.view === id);
    return views.length ? [el('h4', { class: 'section', text: t(`view.${id}`) }), el('div', { class: 'presets' }, ...views.map(card))] : [];
  };
  const other = VIEWS.filter((id) => !COURSES.some(({ views }) => views.includes(id)));
  const sections = [
    ...COURSES.map(({ id, views }) => el('section', { data: { course: id } }, el('h3', { text: t(`course.${id}`) }), el('p', { text: t(`course.${id}.text`) }), ...views.flatMap(part))),
    ...other.map((id) => el('section', {}, ...part(id))),
  ];
  const dialog = openDialog(t('lesson.list'), el('p', { text: t('lesson.list.text') }), ...sections, answersBar());
}
