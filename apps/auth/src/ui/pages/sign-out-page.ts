import { html, type Html, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'

export type SignOutView = {
  /** Null if the pages no longer know anyone, but applications do. */
  address: string | null
  form: { action: string; fields: readonly Html[] }
  stay: string
}

export const signOutPage = (t: UiTexts, view: SignOutView): Page => ({
  title: t('sign-out'),
  body: html`<h1>${t('sign-out.heading')}</h1>
    <p>
      ${view.address === null ? t('sign-out.applications') : t.html('sign-out.who', { address: view.address })}
    </p>
    <form method="post" action="${view.form.action}">
      ${view.form.fields}
      <button type="submit">${t('sign-out')}</button>
    </form>
    ${foot(link(view.stay, t('sign-out.stay')))}`,
})
