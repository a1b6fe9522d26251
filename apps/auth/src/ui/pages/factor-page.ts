import { codeField, type Html, html, notice, type Page } from '@signet/pages'
import { withoutInvisible } from '@signet/pages/visible'
import type { Factor } from '../../users/user.js'
import { foot, link } from './parts.js'

export type FactorView = {
  factor: Factor
  /** False for a phone that has not been sent a code yet. */
  codeExpected: boolean
  others: readonly { factor: Factor; href: string }[]
  notice?: string
  fault?: string | undefined
  verify: { action: string; fields: readonly Html[] }
  send: { action: string; fields: readonly Html[] }
  signOut: { action: string; fields: readonly Html[] }
}

export const factorPage = (view: FactorView): Page => ({
  title: 'Confirm it’s you',
  body: html`<h1>Confirm it’s you</h1>
    ${notice(view.notice, view.fault)} ${view.codeExpected ? codeForm(view) : null}
    ${view.factor.factorType === 'phone' ? sendForm(view) : null}
    ${
      view.others.length === 0
        ? null
        : foot(...view.others.map(({ factor, href }) => link(href, `Use ${nameOf(factor)}`)))
    }
    <form class="foot" method="post" action="${view.signOut.action}">
      ${view.signOut.fields}
      <button class="link" type="submit">Use another account</button>
    </form>`,
})

const codeForm = ({ factor, verify, fault }: FactorView): Html =>
  html`<form method="post" action="${verify.action}">
    ${verify.fields}
    <p class="soft">
      Enter the code that ${nameOf(factor)} ${factor.factorType === 'totp' ? 'shows' : 'was sent'}.
    </p>
    ${codeField({ fault })}
    <button type="submit">Continue</button>
  </form>`

const sendForm = ({ factor, codeExpected, send }: FactorView): Html =>
  html`${codeExpected ? null : html`<p class="soft">We will send a code to ${nameOf(factor)}.</p>`}
    <form method="post" action="${send.action}">
      ${send.fields}
      <button class="${codeExpected ? 'plain second' : ''}" type="submit">
        ${codeExpected ? 'Send another code' : 'Send a code'}
      </button>
    </form>`

function nameOf({ factorType, friendlyName }: Factor): string {
  const name = withoutInvisible(friendlyName).trim()
  if (name !== '') return name
  return factorType === 'totp' ? 'your authenticator app' : 'your phone'
}
