import { field, type Html, html, notice, type Page } from '@signet/pages'

import { foot, link } from './parts.js'

export type PasswordView = {
  address: string
  notice?: string
  fault?: string | undefined
  minPasswordLength: number
  back: string
  /** Further proof required by the settings. */
  asks: 'nonce' | 'current_password' | null
  form: { action: string; fields: readonly Html[] }
}

export const passwordPage = (view: PasswordView): Page => ({
  title: 'Choose a new password',
  body: html`<h1>Choose a new password</h1>
    <p class="soft">for ${view.address}</p>
    ${notice(view.notice, view.fault)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields}
      <input type="text" autocomplete="username" value="${view.address}" readonly hidden />
      ${
        view.asks === 'current_password'
          ? field({
              name: 'current_password',
              label: 'Current password',
              type: 'password',
              autocomplete: 'current-password',
              fault: view.fault,
              first: true,
            })
          : null
      }
      ${
        view.asks === 'nonce'
          ? field({
              name: 'nonce',
              label: 'The code we sent you',
              autocomplete: 'one-time-code',
              fault: view.fault,
              first: true,
            })
          : null
      }
      ${field({
        name: 'password',
        label: 'New password',
        type: 'password',
        autocomplete: 'new-password',
        fault: view.fault,
        first: view.asks === null,
        hint: `At least ${view.minPasswordLength} characters.`,
      })}
      <button type="submit">Save</button>
    </form>
    ${foot(link(view.back, 'Not now'))}`,
})
