/** What nodes are called, in the language of the page. */
import { t } from '#lab/strings.js';

/** Names that our stories and drawn worlds give to routers: what stands before a person. */
const ROUTER = /^(Ada|Ben)(?:’s)? router$/;
const OFFICE = /^(Ada|Ben)’s office$/;

/**
 * The meeting place has its name in the language of the page, and so have the routers of our
 * own stories; what a user has named keeps its name.
 * @param {{role?: string, name: string}} node
 */
export function nameOf({ role, name }) {
  if (role === 'place') return t('node.place');
  if (role !== 'router') return name;
  if (name === 'Router at home') return t('node.router.home');
  const [, person] = ROUTER.exec(name) ?? [];
  const [, worker] = OFFICE.exec(name) ?? [];
  if (person) return t('node.router.of', { person });
  return worker ? t('node.office.of', { person: worker }) : name;
}
