import { hidden, type Html, html, notice, type Page } from '@signet/pages'
import type { Factor } from '../identity/identity-client.js'

export type FactorView = {
  txn: string
  factor: Factor
  /** False for a phone that was not sent a code yet. */
  codeExpected: boolean
  /** The other factors of the account. */
  others: readonly Factor[]
  verify: { action: string; csrf: string }
  choose: { action: string; csrf: string }
  notice?: string
}

export const factorPage = (view: FactorView): Page => ({
  title: 'Confirm it’s you',
  body: html`<h1>Confirm it’s you</h1>
    ${notice(view.notice)}
    ${view.codeExpected ? codeForm(view) : chooseForm(view, view.factor, 'Send a code', '')}
    ${view.others.length === 0 ? null : html`<p class="or">or</p>`}
    <div class="stack">
      ${view.others.map((factor) => chooseForm(view, factor, `Use ${nameOf(factor)}`, 'plain'))}
    </div>`,
})

const codeForm = ({ txn, factor, verify }: FactorView): Html =>
  html`<form method="post" action="${verify.action}">
    ${hidden({ txn, csrf: verify.csrf })}
    <p class="soft">
      ${
        factor.type === 'totp'
          ? `Enter the code that ${nameOf(factor)} shows.`
          : `Enter the code that was sent to ${nameOf(factor)}.`
      }
    </p>
    <label for="code">Code</label>
    <input
      id="code"
      name="code"
      class="code"
      inputmode="numeric"
      autocomplete="one-time-code"
      pattern="[0-9]{6,10}"
      maxlength="10"
      required
    />
    <button type="submit">Continue</button>
  </form>`

const chooseForm = ({ txn, choose }: FactorView, factor: Factor, label: string, style: string): Html =>
  html`<form method="post" action="${choose.action}">
    ${hidden({ txn, csrf: choose.csrf, factor: factor.id })}
    <button class="${style}" type="submit">${label}</button>
  </form> `

function nameOf({ type, name }: Factor): string {
  if (name !== '') return name
  return type === 'totp' ? 'your authenticator app' : 'your phone'
}
