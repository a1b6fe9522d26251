import { html, notice, type Html, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { nameForm } from './account-factor-pages.js'
import { foot, link } from './parts.js'
import { insteadOfWebauthn, webauthnForm } from './webauthn-form.js'

export type SecurityKeyView = {
  script: string
  notice?: string | undefined
  fault?: string | undefined
  name: string
  /** The options for the browser; null while the key gets its name. */
  options: object | null
  form: { action: string; fields: readonly Html[] }
  back: string
}

/** First asks for a name of the key, then for the key itself. */
export const securityKeyPage = (t: UiTexts, view: SecurityKeyView): Page => ({
  title: t('me.key'),
  load: [view.script],
  body: html`<h1>${t('me.key')}</h1>
    ${notice(view.notice, view.fault)}
    ${view.options === null ? nameStep(t, view) : keyStep(t, view, view.options)}
    ${foot(link(view.back, t('me.back')))}`,
})

const nameStep = (t: UiTexts, view: SecurityKeyView): Html =>
  html`<p>${t('me.key.text')}</p>
    ${nameForm(t, { ...view, label: t('me.key.name'), hint: t('me.key.name-hint') })}`

const keyStep = (t: UiTexts, { form }: SecurityKeyView, options: object): Html =>
  html`<p>${t('me.key.touch')}</p>
    ${insteadOfWebauthn(t('factor.key.unable'))}
    ${webauthnForm(t, { ...form, options, ceremony: 'create', label: t('me.key.finish') })}`
