/** The lessons there are, and how far one has come in each. */
import { Lesson } from '#servent';
import { el, icon } from '#lab/dom.js';
import { language } from '#lab/language.js';
import { answersBar } from '#lab/lesson/answers.js';
import { progress } from '#lab/lesson/lesson.js';
import { openDialog } from '#lab/panels/dialog.js';
import { t } from '#lab/strings.js';
import { VIEWS } from '#lab/views.js';

/** @import * as T from '../types' */
/** @import { Classroom } from './lesson.js' */

/** @param {Classroom} room */
export function lessonList(room) {
  const all = Lesson.all(language());
  const card = (/** @type {T.LessonView} */ view) => {
    const come = progress(view.id);
    const far = come === 'done' ? t('lesson.done') : come !== null ? t('lesson.begun', { n: Number(come) + 1, of: view.steps.length }) : t('lesson.minutes', { n: view.minutes });
    return el('button', {
      class: 'preset', type: 'button', data: { open: view.id }, 'aria-pressed': String(room.view?.id === view.id),
      on: { click: () => { dialog.close(); room.open(view.id, come && come !== 'done' ? Number(come) : 0); } },
    }, el('strong', {}, come === 'done' ? icon('check') : null, view.title), el('span', { text: view.text }), el('span', { class: 'lesson-far', text: `${t(`lesson.help.${view.help}`)} · ${far}` }));
  };
  const sections = VIEWS.map((id) => [id, all.filter((view) => view.view === id)]).filter(([, views]) => views.length)
    .map(([id, views]) => el('section', {}, el('h3', { class: 'section', text: t(`view.${id}`) }), el('div', { class: 'presets' }, .../** @type {T.LessonView[]} */ (views).map(card))));
  const dialog = openDialog(t('lesson.list'), el('p', { text: t('lesson.list.text') }), ...sections, answersBar());
}
