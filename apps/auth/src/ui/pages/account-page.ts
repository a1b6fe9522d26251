import { html, type Html, type Page } from '@signet/pages'
import { foot, link } from './parts.js'

export type AccountView = {
  address: string
  /** The site waiting for the person. */
  site: string | null
  proceed: { action: string; fields: readonly Html[] }
  signOut: { action: string; fields: readonly Html[] }
  password: string
  home: { url: string; name: string }
}

export const accountPage = (view: AccountView): Page => ({
  title: 'Signed in',
  body: html`<h1>You are signed in</h1>
    <p>as <strong>${view.address}</strong></p>
    ${
      view.site === null
        ? null
        : html`<form method="post" action="${view.proceed.action}">
            ${view.proceed.fields}
            <button type="submit">Continue to <bdi>${view.site}</bdi></button>
          </form>`
    }
    <form method="post" action="${view.signOut.action}">
      ${view.signOut.fields}
      <button class="${view.site === null ? '' : 'plain second'}" type="submit">
        ${view.site === null ? 'Sign out' : 'Use another account'}
      </button>
    </form>
    ${foot(link(view.password, 'Change password'), link(view.home.url, `Go to ${view.home.name}`))}`,
})
