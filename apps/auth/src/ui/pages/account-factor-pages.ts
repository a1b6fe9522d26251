import { Html, codeField, field, html, notice, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'

type Form = { action: string; fields: readonly Html[] }
type Common = { notice?: string | undefined; fault?: string | undefined; back: string; form: Form }

export type AuthenticatorView = Common & { name: string; setup: { qrCode: string; secret: string } | null }

const QR_STYLE = `
.qr { display: grid; place-items: center; margin: 1rem 0; padding: 1rem; background: white; border-radius: .6rem }
.qr svg { width: 100%; max-width: 14rem; height: auto }
.secret { overflow-wrap: anywhere; font: 1rem/1.5 ui-monospace, monospace; letter-spacing: .08em }
`

/** First asks for a name of the app, then for the code that it shows. */
export const authenticatorPage = (t: UiTexts, view: AuthenticatorView): Page => ({
  title: t('me.authenticator'),
  style: QR_STYLE,
  body: html`<h1>${t('me.authenticator')}</h1>
    ${notice(view.notice, view.fault)}
    ${
      view.setup === null
        ? html`<p>${t('me.authenticator.text')}</p>
            ${nameForm(t, { ...view, label: t('me.authenticator.name'), hint: t('me.authenticator.name-hint') })}`
        : codeForm(t, view, view.setup)
    }
    ${foot(link(view.back, t('me.back')))}`,
})

type Named = Common & { name: string; label: string; hint: string }

/** Asks for the name of a second factor, by which its owner can tell it apart from others. */
export const nameForm = (t: UiTexts, { form, ...named }: Omit<Named, 'back' | 'notice'>): Html =>
  html`<form method="post" action="${form.action}">
    ${form.fields} ${nameField(t, { ...named, first: true })}
    <button type="submit">${t('continue')}</button>
  </form>`

export const nameField = (
  t: UiTexts,
  { name, ...rest }: Pick<Named, 'name' | 'label' | 'hint' | 'fault'> & { first?: boolean },
): Html => field(t, { ...rest, name: 'name', autocomplete: 'off', maxLength: 120, value: name })

const codeForm = (
  t: UiTexts,
  { form, fault }: AuthenticatorView,
  { qrCode, secret }: NonNullable<AuthenticatorView['setup']>,
): Html =>
  html`<p>${t('me.authenticator.scan')}</p>
    <div class="qr" role="img" aria-label="${t('me.authenticator.qr')}">${new Html(qrCode)}</div>
    <p>${t('me.authenticator.type')}</p>
    <p class="secret">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</p>
    <form method="post" action="${form.action}">
      ${form.fields} ${codeField(t, { fault })}
      <button type="submit">${t('me.authenticator.finish')}</button>
    </form>`

export type RecoveryCodesView = Common & {
  left: number
  hasFactor: boolean
  codes: readonly string[] | null
  /** Whether the codes were on this page before. */
  seen: boolean
}

/** Shows the codes once. They are not shown anywhere afterwards. */
export const recoveryCodesPage = (t: UiTexts, view: RecoveryCodesView): Page => ({
  title: t('me.recovery'),
  style: '.codes { columns: 2; padding: 0; list-style: none; font: 1.05rem/2 ui-monospace, monospace }',
  body: html`<h1>${t('me.recovery')}</h1>
    ${notice(view.notice, view.fault)}
    ${
      view.codes === null
        ? html`<p>${t('me.recovery.text')}</p>
            ${view.seen ? html`<p role="status">${t('me.recovery.seen')}</p>` : null} ${makeCodes(t, view)}`
        : html`<p role="status">${t('me.recovery.shown')}</p>
            <ul class="codes">
              ${view.codes.map((code) => html`<li>${code}</li>`)}
            </ul>`
    }
    ${foot(link(view.back, t('me.back')))}`,
})

/** Asks for confirmation before it replaces codes that still work. */
function makeCodes(t: UiTexts, { left, hasFactor, form }: RecoveryCodesView): Html {
  if (!hasFactor) return html`<p>${t('me.recovery.no-factor')}</p>`
  const count = html`<p>${t('me.recovery.left', { count: left })}</p>`
  if (left === 0)
    return html`${count}
      <form method="post" action="${form.action}">
        ${form.fields}
        <button type="submit">${t('me.recovery.make')}</button>
      </form>`
  return html`${count}
    <details>
      <summary>${t('me.recovery.make')}</summary>
      <form method="post" action="${form.action}">
        ${form.fields} <input type="hidden" name="replace" value="yes" />
        <p>${t('me.recovery.replace-question')}</p>
        <button class="danger" type="submit">${t('me.recovery.replace')}</button>
      </form>
    </details>`
}

export type RecoveryView = Common

/** Asks for a recovery code in place of a second factor. */
export const recoveryPage = (t: UiTexts, view: RecoveryView): Page => ({
  title: t('me.recovery.use'),
  body: html`<h1>${t('me.recovery.use')}</h1>
    ${notice(view.notice, view.fault)}
    <p class="soft">${t('me.recovery.use-text')}</p>
    <form method="post" action="${view.form.action}">
      ${view.form.fields}
      ${field(t, { name: 'code', label: t('me.recovery.one'), autocomplete: 'off', fault: view.fault, first: true })}
      <button type="submit">${t('continue')}</button>
    </form>
    ${foot(link(view.back, t('me.recovery.other-way')))}`,
})
