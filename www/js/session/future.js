/** Whether what lies ahead of the clock is shown. A person who wants to guess first hides it. */

let hidden = false;

/** True while nothing on the page may know more than the clock. */
export const isHidden = () => hidden;

/** @param {boolean} hide */
export const hide = (hide) => { hidden = hide; };

/** Whether something at that instant may be told of a run. @param {number|null|undefined} at @param {number} now */
export const told = (at, now) => !hidden || (at !== null && at !== undefined && at <= now);
