import { html, type Html, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'

export type AccountView = {
  address: string
  /** What the person has just done. */
  done: string | null
  /** The site that waits for the person. */
  site: string | null
  proceed: { action: string; fields: readonly Html[] }
  signOut: { action: string; fields: readonly Html[] }
  password: string
  manage: string
  leave: { action: string; fields: readonly Html[] } | null
  home: { url: string; name: string }
}

export const accountPage = (t: UiTexts, view: AccountView): Page => ({
  title: t('account.title'),
  body: html`<h1>${t('account.heading')}</h1>
    ${view.done === null ? null : html`<p class="good" role="status">${view.done}</p>`}
    <p>${t.html('account.as', { address: view.address })}</p>
    ${
      view.site === null
        ? null
        : html`<form method="post" action="${view.proceed.action}">
            ${view.proceed.fields}
            <button type="submit">${t.html('account.proceed', { site: view.site })}</button>
          </form>`
    }
    <form method="post" action="${view.signOut.action}">
      ${view.signOut.fields}
      <button class="${view.site === null ? '' : 'plain second'}" type="submit">
        ${view.site === null ? t('sign-out') : t('account.other')}
      </button>
    </form>
    ${
      view.leave === null
        ? null
        : html`<form method="post" action="${view.leave.action}">
            ${view.leave.fields}
            <button class="plain second" type="submit">${t('sign-out')}</button>
          </form>`
    }
    ${foot(link(view.manage, t('me.manage')), link(view.password, t('account.change-password')), link(view.home.url, t('account.go-to', { site: view.home.name })))}`,
})
