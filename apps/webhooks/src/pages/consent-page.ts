import { hidden, html, type Page } from '@signet/pages'
import type { Texts } from './texts.js'

export type ConsentView = {
  clientName: string
  /** Null for an application on the reader's own computer. */
  redirectHost: string | null
  email: string
  scopes: readonly string[]
  /** Whether the client can renew its access. */
  refreshes: boolean
  /** Days after which access ends, however often it was renewed; 0 for never. */
  maxDays: number
  txn: string
  decision: { action: string; csrf: string }
  logout: { action: string; csrf: string }
}

/** Approve and Deny have equal visual weight. Nothing is loaded from the client. */
export const consentPage = (t: Texts, view: ConsentView): Page => ({
  title: t('consent.title'),
  body: html`<h1>${t.html('consent.heading', { client: view.clientName })}</h1>
    <p>
      <span class="tag">${t('consent.not-verified')}</span>
      <span class="soft">${t('consent.warning')}</span>
    </p>
    <ul class="facts">
      <li>
        <span>${t('consent.your-account')}</span
        ><strong>${view.email === '' ? t('consent.signed-in') : view.email}</strong>
      </li>
      <li>
        <span>${t('consent.leads-to')}</span
        ><strong>${view.redirectHost ?? t('consent.leads-to.this-computer')}</strong>
      </li>
      ${view.scopes.map(
        (scope) => html`<li><span>${t('consent.may')}</span><strong>${scopeInWords(t, scope)}</strong></li> `,
      )}
      <li><span>${t('consent.duration')}</span><strong>${durationInWords(t, view)}</strong></li>
    </ul>
    <form method="post" action="${view.decision.action}">
      ${hidden({ txn: view.txn, csrf: view.decision.csrf })}
      <div class="choice">
        <button class="equal" type="submit" name="decision" value="deny">${t('consent.deny')}</button>
        <button class="equal" type="submit" name="decision" value="approve">${t('consent.approve')}</button>
      </div>
    </form>
    <form class="foot" method="post" action="${view.logout.action}">
      ${hidden({ txn: view.txn, csrf: view.logout.csrf })}
      <button class="link" type="submit">${t('consent.other-account')}</button>
    </form>`,
})

function durationInWords(t: Texts, { refreshes, maxDays }: ConsentView): string {
  if (!refreshes) return t('consent.duration.hour')
  return maxDays === 0 ? t('consent.duration.text') : t('consent.duration.days', { days: maxDays })
}

const WORDS = {
  'mcp:connect': 'scope.mcp:connect',
  'tokens:manage': 'scope.tokens:manage',
} as const

/** Describes what a scope allows. */
export const scopeInWords = (t: Texts, scope: string): string =>
  Object.hasOwn(WORDS, scope) ? t(WORDS[scope as keyof typeof WORDS]) : scope
