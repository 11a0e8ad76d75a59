/** What a teacher does with a lesson: a link for a class, and worksheets. */
import { el, icon } from '#lab/dom.js';
import { printWorksheet } from '#lab/lesson/worksheet.js';
import { isLocked } from '#lab/lock.js';
import { openMenu } from '#lab/panels/menu.js';
import { t } from '#lab/strings.js';

/** @import { Classroom } from './lesson.js' */

/** The button of the menu; a class has none, for the answers are in it. @param {Classroom} room @param {() => void} link copies the link for a class */
export function teacherMenu(room, link) {
  if (isLocked()) return null;
  const items = () => [
    // A lesson from a file is in no link.
    ...(room.own ? [] : [{ text: t('lesson.class'), run: link }]),
    { text: t('lesson.sheet'), run: () => printWorksheet(room, false) },
    { text: t('lesson.sheet.answers'), run: () => printWorksheet(room, true) },
  ];
  return el('button', { class: 'button plain small icon', type: 'button', data: { lesson: 'teacher' }, 'aria-haspopup': 'menu', 'aria-label': t('lesson.teacher'), title: t('lesson.teacher'), on: { click: (/** @type {any} */ e) => openMenu(e.currentTarget, t('lesson.teacher'), items()) } }, icon('more'));
}
