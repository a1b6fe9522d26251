import { captchaPolicy, field, type Html, html, notice, type Page } from '@signet/pages'
import type { WaysIn } from '../context/ways-in.js'
import { captchaField, foot, link } from './parts.js'

export type AddressView = {
  ways: WaysIn
  address?: string
  notice?: string
  fault?: string | undefined
  form: { action: string; fields: readonly Html[] }
  signIn: string
}

type Words = { title: string; text: string; kind: 'email' | 'phone'; button: string }

/** A page that takes one address and sends one message. */
const addressPage = (view: AddressView, { title, text, kind, button }: Words): Page => ({
  title,
  allow: view.ways.captcha ? captchaPolicy(view.ways.captcha) : {},
  body: html`<h1>${title}</h1>
    <p class="soft">${text}</p>
    ${notice(view.notice, view.fault)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields}
      ${
        kind === 'email'
          ? field({
              name: 'email',
              label: 'Email',
              type: 'email',
              autocomplete: 'username',
              value: view.address ?? '',
              fault: view.fault,
              first: true,
            })
          : field({
              name: 'phone',
              label: 'Phone number',
              type: 'tel',
              autocomplete: 'tel',
              value: view.address ?? '',
              fault: view.fault,
              first: true,
              hint: 'With the country code, for example +49 151 23456789.',
            })
      }
      ${captchaField(view.ways.captcha)}
      <button type="submit">${button}</button>
    </form>
    ${foot(link(view.signIn, 'Back to sign-in'))}`,
})

export const forgotPage = (view: AddressView): Page =>
  addressPage(view, {
    title: 'Forgot password',
    text: 'We will email you a link to choose a new password.',
    kind: 'email',
    button: 'Email me a link',
  })

export const phonePage = (view: AddressView): Page =>
  addressPage(view, {
    title: 'Sign in by phone',
    text: 'We will text you a code.',
    kind: 'phone',
    button: 'Send a code',
  })
