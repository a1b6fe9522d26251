import { field, type Html, html, notice, type Page } from '@signet/pages'
import type { PasswordProof } from '../../account/password-change.js'
import type { UiTexts } from '../texts.js'
import { accountName, foot, link } from './parts.js'

export type PasswordView = {
  address: string
  notice?: string
  fault?: string | undefined
  minPasswordLength: number
  back: string
  /** The additional proof that is needed. */
  asks: PasswordProof
  /** The form that requests a code. */
  code: { action: string; fields: readonly Html[] } | null
  form: { action: string; fields: readonly Html[] }
}

export const passwordPage = (t: UiTexts, view: PasswordView): Page => ({
  title: t('password.title'),
  body: html`<h1>${t('password.title')}</h1>
    <p class="soft">${t('password.for', { address: view.address })}</p>
    ${notice(view.notice, view.fault)}
    <form method="post" action="${view.form.action}">
      ${view.form.fields} ${accountName(view.address)}
      ${
        view.asks === 'current_password'
          ? field(t, {
              name: 'current_password',
              label: t('password.current'),
              type: 'password',
              autocomplete: 'current-password',
              fault: view.fault,
              first: true,
            })
          : null
      }
      ${
        view.asks === 'nonce'
          ? field(t, {
              name: 'nonce',
              label: t('password.code'),
              autocomplete: 'one-time-code',
              fault: view.fault,
              first: true,
            })
          : null
      }
      ${field(t, {
        name: 'password',
        label: t('password.new'),
        type: 'password',
        autocomplete: 'new-password',
        fault: view.fault,
        first: view.asks === null,
        hint: t('password.hint', { count: view.minPasswordLength }),
      })}
      <button type="submit">${t('password.save')}</button>
    </form>
    ${
      view.code === null
        ? null
        : html`<form method="post" action="${view.code.action}">
            ${view.code.fields}
            <button class="plain second" type="submit">
              ${t(view.asks === 'nonce' ? 'password.send-code' : 'password.code-instead')}
            </button>
          </form>`
    }
    ${foot(link(view.back, t('password.not-now')))}`,
})
