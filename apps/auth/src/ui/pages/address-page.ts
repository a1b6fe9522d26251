import { captchaPolicy, field, type Html, html, notice, type Page } from '@signet/pages'
import type { WaysIn } from '../context/ways-in.js'
import type { UiTexts } from '../texts.js'
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
const addressPage = (t: UiTexts, view: AddressView, { title, text, kind, button }: Words): Page => ({
  title,
  allow: view.ways.captcha ? captchaPolicy(view.ways.captcha) : {},
  body: html`<h1>${title}</h1>
    <p class="soft">${text}</p>
    ${notice(view.notice, view.fault)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields}
      ${
        kind === 'email'
          ? field(t, {
              name: 'email',
              label: t('address.email'),
              type: 'email',
              autocomplete: 'username',
              value: view.address ?? '',
              fault: view.fault,
              first: true,
            })
          : field(t, {
              name: 'phone',
              label: t('address.phone'),
              type: 'tel',
              autocomplete: 'tel',
              value: view.address ?? '',
              fault: view.fault,
              first: true,
              hint: t('address.phone-hint'),
            })
      }
      ${captchaField(t, view.ways.captcha)}
      <button type="submit">${button}</button>
    </form>
    ${foot(link(view.signIn, t('back-to-sign-in')))}`,
})

export const forgotPage = (t: UiTexts, view: AddressView): Page =>
  addressPage(t, view, {
    title: t('forgot.title'),
    text: t('forgot.text'),
    kind: 'email',
    button: t('forgot.button'),
  })

export const phonePage = (t: UiTexts, view: AddressView): Page =>
  addressPage(t, view, {
    title: t('phone.title'),
    text: t('phone.text'),
    kind: 'phone',
    button: t('phone.button'),
  })
