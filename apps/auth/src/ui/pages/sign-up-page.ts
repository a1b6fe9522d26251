import { captchaPolicy, field, type Html, html, notice, type Page } from '@signet/pages'
import type { WaysIn } from '../context/ways-in.js'
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

export const signUpPage = (view: SignUpView): Page => ({
  title: 'Create an account',
  allow: view.ways.captcha ? captchaPolicy(view.ways.captcha) : {},
  body: html`<h1>Create an account</h1>
    ${notice(view.notice, view.fault)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields} ${identifierField(view)}
      ${field({
        name: 'password',
        label: 'Password',
        type: 'password',
        autocomplete: 'new-password',
        fault: view.fault,
        first: (view.identifier ?? '') !== '',
        hint: `At least ${view.minPasswordLength} characters.`,
      })}
      ${captchaField(view.ways.captcha)}
      <button type="submit">Create account</button>
    </form>
    ${foot(link(view.signIn, 'Already have an account? Sign in'))}`,
})
