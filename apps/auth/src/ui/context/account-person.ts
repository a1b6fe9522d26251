import type { Answer } from '@signet/http'
import { NOTHING_ELSE, type Ended } from '../../sessions/session-ends.js'
import { hasPendingChange, type User } from '../../users/user.js'
import { isUiKey, type UiTexts } from '../texts.js'
import { outcome } from './outcome.js'
import type { Person } from './progress.js'
import type { SignInContext } from './sign-in-context.js'
import type { Caller } from './sign-in-pages.js'
import type { UiDeps } from './ui-deps.js'

/** The context that leads to the account page after signing in. */
const toAccount = (context: SignInContext): SignInContext => ({ ...context, next: 'account' })

/**
 * Does the work for a person who is signed in and has nothing left to prove. Asks others for the missing proof first. An account that is
 * about to be deleted can only be kept.
 */
export async function forPerson(
  { pages, progress }: UiDeps,
  caller: Caller,
  work: (person: Person) => Answer | Promise<Answer>,
  { whilePending = false } = {},
): Promise<Answer> {
  const person = await progress.personOf(caller.browser)
  const context = toAccount(caller.context)
  if (person === null) return pages.redirect(pages.path('', context))
  if (progress.openFactors(person).length > 0) return pages.redirect(pages.path('/factor', context))
  if (person.user.deletionDueAt !== null && !whilePending)
    return pages.redirect(pages.path('/account/delete', context))
  return work(person)
}

/**
 * Adds a way into the account only for a person who has just proven who they are. Others sign in again first. Otherwise, someone who finds
 * an open browser would get permanent access.
 */
export async function onceProved(
  { pages, recentProofs }: UiDeps,
  { context }: Caller,
  person: Person,
  work: () => Answer | Promise<Answer>,
): Promise<Answer> {
  if (!(await recentProofs.isDue(person))) return work()
  const { email, phone } = person.user
  const loginHint = email ?? (phone === null ? null : `+${phone}`)
  return pages.redirect(pages.path('', { ...toAccount(context), prompt: 'login', loginHint }))
}

/** Whether the sign-in page is shown because of {@link onceProved}. */
export const isAskedAgain = ({ prompt, next }: SignInContext): boolean =>
  prompt === 'login' && next === 'account'

/** Changes that the account page can report. */
export const DONE = [
  'email',
  'email-half',
  'email-cancelled',
  'phone',
  'phone-cancelled',
  'password',
  'factor',
  'factor-key',
  'factor-phone',
  'factor-removed',
  'factor-renamed',
  'passkey',
  'passkey-removed',
  'passkey-renamed',
  'session',
  'sessions',
  'unlinked',
  'kept',
] as const
export type Done = (typeof DONE)[number]

/** Marks a report that also says that a change of address was cancelled. */
const CANCELLED = '+change-cancelled'

/** What a page is to report: what was done, and what else was cancelled with it. */
export const reportOf = (done: Done, { changeCancelled }: Ended): string =>
  changeCancelled ? `${done}${CANCELLED}` : done

/** The text of a report, if it is about one of these changes. */
export function reportText(t: UiTexts, report: string, among: readonly Done[] = DONE): string | undefined {
  const [known] = report.split('+', 1)
  const key = `me.done.${among.find((done) => done === known) ?? ''}`
  if (!isUiKey(key)) return undefined
  return report.endsWith(CANCELLED) ? `${t(key)} ${t('me.done.change-cancelled')}` : t(key)
}

/** A change of address that waited before and no longer does was cancelled. */
export const endedWith = (before: User, after: User): Ended => ({
  changeCancelled: hasPendingChange(before) && !hasPendingChange(after),
})

export const backToAccount = (
  deps: UiDeps,
  { browser, context }: Caller,
  done: Done,
  ended: Ended = NOTHING_ELSE,
): Answer => {
  const said = outcome(deps, browser, reportOf(done, ended))
  return deps.pages.redirect(deps.pages.path('/account', { ...context, next: null }, said))
}
