import { codeField, type Html, html, notice, type Page } from '@signet/pages'
import { withoutInvisible } from '@signet/pages/visible'
import type { Factor } from '../../users/user.js'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'
import { insteadOfWebauthn, webauthnForm } from './webauthn-form.js'

export type FactorView = {
  factor: Factor
  /** False for a phone that has not received a code yet. */
  codeExpected: boolean
  /** The options for a security key, and the script that asks for it. */
  key: { options: object; script: string } | null
  others: readonly { factor: Factor; href: string }[]
  notice?: string
  fault?: string | undefined
  recovery: string
  verify: { action: string; fields: readonly Html[] }
  send: { action: string; fields: readonly Html[] }
  signOut: { action: string; fields: readonly Html[] }
}

export const factorPage = (t: UiTexts, view: FactorView): Page => ({
  title: t('factor.title'),
  ...(view.key === null ? {} : { load: [view.key.script] }),
  body: html`<h1>${t('factor.title')}</h1>
    ${notice(view.notice, view.fault)} ${keyForm(t, view)} ${view.codeExpected ? codeForm(t, view) : null}
    ${view.factor.factorType === 'phone' ? sendForm(t, view) : null}
    ${foot(
      ...view.others.map(({ factor, href }) => link(href, t('factor.use', { factor: nameOf(t, factor) }))),
      link(view.recovery, t('me.recovery.use')),
    )}
    <form class="foot" method="post" action="${view.signOut.action}">
      ${view.signOut.fields}
      <button class="link" type="submit">${t('account.other')}</button>
    </form>`,
})

const keyForm = (t: UiTexts, { factor, key, verify }: FactorView): Html | null =>
  key &&
  html`<p class="soft">${t('factor.key', { factor: nameOf(t, factor) })}</p>
    ${insteadOfWebauthn(t('factor.key.unable'))}
    ${webauthnForm(t, { ...verify, options: key.options, ceremony: 'get', label: t('factor.key.button') })}`

const codeForm = (t: UiTexts, { factor, verify, fault }: FactorView): Html =>
  html`<form method="post" action="${verify.action}">
    ${verify.fields}
    <p class="soft">
      ${t(factor.factorType === 'totp' ? 'factor.shown' : 'factor.sent', { factor: nameOf(t, factor) })}
    </p>
    ${codeField(t, { fault })}
    <button type="submit">${t('continue')}</button>
  </form>`

const sendForm = (t: UiTexts, { factor, codeExpected, send }: FactorView): Html =>
  html`${codeExpected ? null : html`<p class="soft">${t('factor.will-send', { factor: nameOf(t, factor) })}</p>`}
    <form method="post" action="${send.action}">
      ${send.fields}
      <button class="${codeExpected ? 'plain second' : ''}" type="submit">
        ${t(codeExpected ? 'factor.send-another' : 'factor.send')}
      </button>
    </form>`

const NAMES = {
  totp: 'factor.name.totp',
  phone: 'factor.name.phone',
  webauthn: 'factor.name.webauthn',
} as const

function nameOf(t: UiTexts, { factorType, friendlyName }: Factor): string {
  const name = withoutInvisible(friendlyName).trim()
  if (name !== '') return name
  return t(NAMES[factorType])
}
