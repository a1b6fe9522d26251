import { html, notice, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'
import { insteadOfWebauthn, webauthnForm, type WebauthnForm } from './webauthn-form.js'

export type AccountPasskeyView = {
  script: string
  /** Null if the person cannot add another passkey. */
  form: Pick<WebauthnForm, 'action' | 'fields' | 'options'> | null
  notice: string | undefined
  back: string
}

export const accountPasskeyPage = (
  t: UiTexts,
  { script, form, back, ...view }: AccountPasskeyView,
): Page => ({
  title: t('passkey.create'),
  load: [script],
  body: html`<h1>${t('passkey.create')}</h1>
    ${notice(view.notice)}
    <p>${t('passkey.text')}</p>
    ${
      form === null
        ? null
        : html`${insteadOfWebauthn(t('passkey.unable'))}
          ${webauthnForm(t, { ...form, ceremony: 'create', label: t('passkey.create') })}`
    }
    ${foot(link(back, t('me.back')))}`,
})
