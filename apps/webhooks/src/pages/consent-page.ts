import { hidden, html, type Page } from '@signet/pages'

export type ConsentView = {
  clientName: string
  redirect: string
  email: string
  /** Each scope in words. */
  scopes: readonly string[]
  txn: string
  decision: { action: string; csrf: string }
  logout: { action: string; csrf: string }
}

/** Approve and Deny have equal visual weight; nothing is loaded from the client. */
export const consentPage = (view: ConsentView): Page => ({
  title: 'Allow access',
  body: html`<h1>Allow <bdi>${view.clientName}</bdi> to use your account?</h1>
    <p>
      <span class="tag">Not verified</span>
      <span class="soft">Anyone can register an application under any name.</span>
    </p>
    <ul class="facts">
      <li><span>Your account</span><strong>${view.email === '' ? 'Signed in' : view.email}</strong></li>
      <li><span>Leads back to</span><strong>${view.redirect}</strong></li>
      ${view.scopes.map((scope) => html`<li><span>It may</span><strong>${scope}</strong></li> `)}
      <li><span>Duration</span><strong>Access lasts until you revoke it, or 90 days without use</strong></li>
    </ul>
    <form method="post" action="${view.decision.action}">
      ${hidden({ txn: view.txn, csrf: view.decision.csrf })}
      <div class="choice">
        <button class="equal" type="submit" name="decision" value="deny">Deny</button>
        <button class="equal" type="submit" name="decision" value="approve">Approve</button>
      </div>
    </form>
    <form class="foot" method="post" action="${view.logout.action}">
      ${hidden({ txn: view.txn, csrf: view.logout.csrf })}
      <button class="link" type="submit">Use another account</button>
    </form>`,
})

const WORDS: Readonly<Record<string, string>> = {
  'mcp:connect': 'Read your recording events and manage your webhooks',
  'tokens:manage': 'Create, list and revoke your personal API tokens',
}

export const scopeInWords = (scope: string): string => WORDS[scope] ?? scope
