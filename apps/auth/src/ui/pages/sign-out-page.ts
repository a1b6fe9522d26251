import { html, type Html, type Page } from '@signet/pages'
import { foot, link } from './parts.js'

export type SignOutView = {
  address: string
  form: { action: string; fields: readonly Html[] }
  stay: string
}

export const signOutPage = (view: SignOutView): Page => ({
  title: 'Sign out',
  body: html`<h1>Sign out?</h1>
    <p>You are signed in as <strong>${view.address}</strong> in this browser.</p>
    <form method="post" action="${view.form.action}">
      ${view.form.fields}
      <button type="submit">Sign out</button>
    </form>
    ${foot(link(view.stay, 'Stay signed in'))}`,
})
