import { captchaPolicy, html, notice, type Html, type Page } from '@signet/pages'
import { type WaysIn } from '../context/ways-in.js'
import { captchaField, field, foot, link } from './parts.js'

export type AddressView = {
  ways: WaysIn
  address?: string
  notice?: string
  form: { action: string; fields: readonly Html[] }
  signIn: string
}

type Words = { title: string; text: string; kind: 'email' | 'phone'; button: string }

/** One address in, one message out. */
const addressPage = (view: AddressView, { title, text, kind, button }: Words): Page => ({
  title,
  allow: view.ways.captcha ? captchaPolicy(view.ways.captcha) : {},
  body: html`<h1>${title}</h1>
    <p class="soft">${text}</p>
    ${notice(view.notice)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields}
      ${
        kind === 'email'
          ? field({
              name: 'email',
              label: 'E-mail',
              type: 'email',
              autocomplete: 'username',
              value: view.address ?? '',
            })
          : field({
              name: 'phone',
              label: 'Phone number',
              type: 'tel',
              autocomplete: 'tel',
              value: view.address ?? '',
              hint: 'With the country code, for example +49 151 23456789.',
            })
      }
      ${captchaField(view.ways.captcha)}
      <button type="submit">${button}</button>
    </form>
    ${foot(link(view.signIn, 'Back to signing in'))}`,
})

export const forgotPage = (view: AddressView): Page =>
  addressPage(view, {
    title: 'Forgotten password',
    text: 'We mail you a link with which you choose a new one.',
    kind: 'email',
    button: 'Mail me a link',
  })

export const phonePage = (view: AddressView): Page =>
  addressPage(view, {
    title: 'Sign in by phone',
    text: 'We send you a code by SMS.',
    kind: 'phone',
    button: 'Send a code',
  })
