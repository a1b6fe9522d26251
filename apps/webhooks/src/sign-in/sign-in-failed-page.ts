import { html, type Page } from '@signet/pages'
import type { SignInRefusal } from './sign-in-service.js'

/** Our own words only: anyone can make a link to this page, so nothing of its query is shown. */
const REASONS: Readonly<Record<SignInRefusal, string>> = {
  foreign: 'This sign-in was begun in another browser, was finished already, or took too long.',
  not_completed: 'The sign-in was not completed.',
  second_factor_missing: 'This account has a second factor, and this sign-in did not use it.',
}

export const signInFailedPage = ({ reason, retry }: { reason: SignInRefusal; retry: string }): Page => ({
  title: 'You are not signed in',
  body: html`<h1>You are not signed in</h1>
    <p role="alert">${REASONS[reason]}</p>
    <p><a class="button" href="${retry}">Sign in</a></p>`,
})
