import { captchaPolicy, field, type Html, html, notice, type Page } from '@signet/pages'
import type { WaysIn } from '../context/ways-in.js'
import type { UiTexts } from '../texts.js'
import { captchaField, foot, link } from './parts.js'
import { identifierField } from './sign-in-page.js'

export type SignUpView = {
  ways: WaysIn
  identifier?: string
  notice?: string
  fault?: string | undefined
  minPasswordLength: number
  form: { action: string; fields: readonly Html[] }
  signIn: string
}

export const signUpPage = (t: UiTexts, view: SignUpView): Page => ({
  title: t('sign-up'),
  allow: view.ways.captcha ? captchaPolicy(view.ways.captcha) : {},
  body: html`<h1>${t('sign-up')}</h1>
    ${notice(view.notice, view.fault)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields} ${identifierField(t, view)}
      ${field(t, {
        name: 'password',
        label: t('password'),
        type: 'password',
        autocomplete: 'new-password',
        fault: view.fault,
        first: (view.identifier ?? '') !== '',
        hint: t('password.hint', { count: view.minPasswordLength }),
      })}
      ${captchaField(t, view.ways.captcha)}
      <button type="submit">${t('sign-up.button')}</button>
    </form>
    ${foot(link(view.signIn, t('sign-up.known')))}`,
})
