import { html, type Html } from '@signet/pages'
import type { UiTexts } from '../texts.js'

export type WebauthnForm = {
  action: string
  fields: readonly Html[]
  /** The options for the browser, as JSON. */
  options: object
  ceremony: 'create' | 'get'
  label: string
  /** Whether the page also offers another way to sign in. */
  second?: boolean
  /** Whether to offer passkeys while an address is typed, too. */
  autofill?: boolean
}

/** A button that asks the browser for a key and sends its answer. It stays hidden until the script knows that the browser supports this. */
export const webauthnForm = (
  t: UiTexts,
  { action, fields, options, ceremony, label, second = false, autofill = false }: WebauthnForm,
): Html =>
  html`<form
    method="post"
    action="${action}"
    hidden
    data-webauthn="${ceremony}"
    data-options="${JSON.stringify(options)}"
    data-failed="${t('passkey.failed')}"
    ${autofill ? html`data-autofill=""` : null}
  >
    ${fields}
    <input type="hidden" name="credential" value="" />
    <button class="${second ? 'plain' : ''}" type="button">${label}</button>
    <p class="soft" role="status"></p>
  </form>`

/** Shown instead of the button if the browser does not support this, or runs no scripts. */
export const insteadOfWebauthn = (text: string): Html =>
  html`<p class="notice" data-webauthn-instead="">${text}</p>`
