import { codeField, field, html, notice, type Html, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { nameField } from './account-factor-pages.js'
import { foot, link } from './parts.js'

export type PhoneFactorView = {
  notice?: string | undefined
  fault?: string | undefined
  name: string
  phone: string
  /** The number that a code was sent to; null before that. */
  sentTo: string | null
  form: { action: string; fields: readonly Html[] }
  send: string
  back: string
}

/** First asks for the number and a name of the phone, then for the code that was sent to it. */
export const phoneFactorPage = (t: UiTexts, view: PhoneFactorView): Page => ({
  title: t('me.phone-factor'),
  body: html`<h1>${t('me.phone-factor')}</h1>
    ${notice(view.notice, view.fault)}
    ${view.sentTo === null ? numberForm(t, view) : codeForm(t, view, view.sentTo)}
    ${foot(link(view.back, t('me.back')))}`,
})

const numberForm = (t: UiTexts, { form, phone, name, fault }: PhoneFactorView): Html =>
  html`<p>${t('me.phone-factor.text')}</p>
    <form method="post" action="${form.action}">
      ${form.fields}
      ${field(t, {
        name: 'phone',
        label: t('address.phone'),
        type: 'tel',
        autocomplete: 'tel',
        value: phone,
        hint: t('address.phone-hint'),
        fault,
        first: true,
      })}
      ${nameField(t, { name, label: t('me.phone-factor.name'), hint: t('me.authenticator.name-hint'), fault })}
      <button type="submit">${t('phone.button')}</button>
    </form>`

const codeForm = (t: UiTexts, { form, send, fault }: PhoneFactorView, sentTo: string): Html =>
  html`<p role="status">${t('me.phone.waiting', { address: `+${sentTo}` })}</p>
    <form method="post" action="${form.action}">
      ${form.fields} ${codeField(t, { fault })}
      <button type="submit">${t('me.phone-factor.finish')}</button>
    </form>
    <form method="post" action="${send}">
      ${form.fields}
      <button class="plain second" type="submit">${t('factor.send-another')}</button>
    </form>`
