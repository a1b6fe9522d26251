import { html, type Page } from '@signet/pages'
import type { Texts } from '../pages/texts.js'
import type { SignInRefusal } from './sign-in-service.js'

/** Shows only our own texts and nothing from the query, because anyone can make a link to this page. */
const REASONS = {
  foreign: 'sign-in.failed.foreign',
  not_completed: 'sign-in.failed.not_completed',
  second_factor_missing: 'sign-in.failed.second_factor_missing',
} as const satisfies Record<SignInRefusal, string>

export const signInFailedPage = (
  t: Texts,
  { reason, next, isSignedIn }: { reason: SignInRefusal; next: string; isSignedIn: boolean },
): Page => {
  const title = t(isSignedIn ? 'sign-in.failed.still' : 'sign-in.failed')
  return {
    title,
    body: html`<h1>${title}</h1>
      <p role="alert">${t(REASONS[reason])}</p>
      <p><a class="button" href="${next}">${t(isSignedIn ? 'sign-in.failed.continue' : 'sign-in')}</a></p>`,
  }
}
