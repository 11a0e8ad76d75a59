/** Fetches and compiles the module while the page's own scripts still come in. */
import { load } from '#lab/core.js';

load().catch(() => {}); // Code that needs the module asks again, and says what is wrong.
