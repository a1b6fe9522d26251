import { captchaPolicy, field, type Html, html, notice, type Page } from '@signet/pages'
import { providerLabel } from '@signet/pages/provider-label'
import type { WaysIn } from '../context/ways-in.js'
import type { UiTexts } from '../texts.js'
import { captchaField, foot, link } from './parts.js'
import { webauthnForm, type WebauthnForm } from './webauthn-form.js'

export type SignInView = {
  ways: WaysIn
  /** The identifier that was typed before; never the password. */
  identifier?: string
  notice?: string
  fault?: string | undefined
  /** Name of the site that waits for the person. */
  site: string | null
  /** The person is signed in and about to make a change that needs a recent proof. */
  askedAgain: boolean
  form: { action: string; mailAction: string; fields: readonly Html[] }
  /** Null if passkeys are off. */
  passkey: ({ script: string } & Pick<WebauthnForm, 'action' | 'fields' | 'options'>) | null
  provider: { action: string; fields: readonly Html[] }
  links: { cancel: string | null; forgot: string; signUp: string; phone: string }
}

export const signInPage = (t: UiTexts, view: SignInView): Page => ({
  title: t('sign-in'),
  ...(view.passkey === null ? {} : { load: [view.passkey.script] }),
  allow: view.ways.captcha ? captchaPolicy(view.ways.captcha) : {},
  body: html`<h1>${t('sign-in')}</h1>
    ${view.site === null ? null : html`<p class="soft">${t.html('sign-in.site', { site: view.site })}</p>`}
    ${view.askedAgain ? html`<p>${t('sign-in.again')}</p>` : null} ${notice(view.notice, view.fault)}
    ${view.ways.email || view.ways.phone ? passwordForm(t, view) : null} ${passkeyForm(t, view)}
    ${providerForm(t, view)}
    ${foot(
      view.ways.email ? link(view.links.forgot, t('sign-in.forgot')) : null,
      view.ways.phone ? link(view.links.phone, t('sign-in.phone')) : null,
      view.ways.signUp ? link(view.links.signUp, t('sign-up')) : null,
      view.links.cancel === null ? null : link(view.links.cancel, t('sign-in.cancel')),
    )}`,
})

const passwordForm = (t: UiTexts, { ways, form, identifier = '', fault }: SignInView): Html =>
  html`<form method="post" action="${form.action}">
    ${form.fields} ${identifierField(t, { ways, identifier, fault })}
    ${field(t, {
      name: 'password',
      label: t('password'),
      type: 'password',
      autocomplete: 'current-password',
      fault,
      first: identifier !== '',
    })}
    ${captchaField(t, ways.captcha)}
    <button type="submit">${t('sign-in')}</button>
    ${
      ways.magicLink
        ? html`<button class="plain second" type="submit" formaction="${form.mailAction}" formnovalidate>
            ${t('sign-in.email-link')}
          </button>`
        : null
    }
  </form>`

/** A field for an email address, a phone number, or either of them. */
export function identifierField(
  t: UiTexts,
  {
    ways: { email, phone, passkey },
    identifier = '',
    fault,
  }: Pick<SignInView, 'ways' | 'identifier' | 'fault'>,
): Html {
  const label = t(email && phone ? 'address.email-or-phone' : email ? 'address.email' : 'address.phone')
  const type = email && phone ? 'text' : email ? 'email' : 'tel'
  return field(t, {
    name: 'identifier',
    label,
    type,
    autocomplete: passkey ? 'username webauthn' : 'username',
    value: identifier,
    fault,
    first: identifier === '',
  })
}

/** A button below the password. Passkeys are also in the list that the browser offers for the address. */
const passkeyForm = (t: UiTexts, { ways, passkey }: SignInView): Html | null =>
  passkey &&
  webauthnForm(t, {
    ...passkey,
    ceremony: 'get',
    label: t('passkey.sign-in'),
    second: ways.email || ways.phone,
    autofill: true,
  })

function providerForm(t: UiTexts, { ways, provider }: SignInView): Html | null {
  if (ways.providers.length === 0) return null
  return html`${ways.email || ways.phone ? html`<p class="or">${t('or')}</p>` : null}
    <form method="post" action="${provider.action}">
      ${provider.fields}
      <div class="stack">
        ${ways.providers.map(
          (name) =>
            html`<button class="plain" type="submit" name="provider" value="${name}">
              ${t('sign-in.provider', { provider: providerLabel(name) })}
            </button> `,
        )}
      </div>
    </form>`
}
