import { captchaPolicy, field, type Html, html, notice, type Page } from '@signet/pages'
import { providerLabel } from '@signet/pages/provider-label'
import type { WaysIn } from '../context/ways-in.js'
import { captchaField, foot, link } from './parts.js'

export type SignInView = {
  ways: WaysIn
  /** The identifier typed before; never the password. */
  identifier?: string
  notice?: string
  fault?: string | undefined
  /** Name of the site waiting for the person. */
  site: string | null
  form: { action: string; mailAction: string; fields: readonly Html[] }
  provider: { action: string; fields: readonly Html[] }
  links: { cancel: string | null; forgot: string; signUp: string; phone: string }
}

export const signInPage = (view: SignInView): Page => ({
  title: 'Sign in',
  allow: view.ways.captcha ? captchaPolicy(view.ways.captcha) : {},
  body: html`<h1>Sign in</h1>
    ${
      view.site === null
        ? null
        : html`<p class="soft">
            to continue to <strong><bdi>${view.site}</bdi></strong>
          </p>`
    }
    ${notice(view.notice, view.fault)} ${view.ways.email || view.ways.phone ? passwordForm(view) : null}
    ${providerForm(view)}
    ${foot(
      view.ways.email ? link(view.links.forgot, 'Forgot password?') : null,
      view.ways.phone ? link(view.links.phone, 'Sign in with a code by SMS') : null,
      view.ways.signUp ? link(view.links.signUp, 'Create an account') : null,
      view.links.cancel === null ? null : link(view.links.cancel, 'Cancel'),
    )}`,
})

const passwordForm = ({ ways, form, identifier = '', fault }: SignInView): Html =>
  html`<form method="post" action="${form.action}">
    ${form.fields} ${identifierField({ ways, identifier, fault })}
    ${field({
      name: 'password',
      label: 'Password',
      type: 'password',
      autocomplete: 'current-password',
      fault,
      first: identifier !== '',
    })}
    ${captchaField(ways.captcha)}
    <button type="submit">Sign in</button>
    ${
      ways.magicLink
        ? html`<button class="plain second" type="submit" formaction="${form.mailAction}" formnovalidate>
            Email me a sign-in link
          </button>`
        : null
    }
  </form>`

/** Email, phone number, or either of them. */
export function identifierField({
  ways: { email, phone },
  identifier = '',
  fault,
}: Pick<SignInView, 'ways' | 'identifier' | 'fault'>): Html {
  const label = email && phone ? 'Email or phone number' : email ? 'Email' : 'Phone number'
  const type = email && phone ? 'text' : email ? 'email' : 'tel'
  return field({
    name: 'identifier',
    label,
    type,
    autocomplete: 'username',
    value: identifier,
    fault,
    first: identifier === '',
  })
}

function providerForm({ ways, provider }: SignInView): Html | null {
  if (ways.providers.length === 0) return null
  return html`${ways.email || ways.phone ? html`<p class="or">or</p>` : null}
    <form method="post" action="${provider.action}">
      ${provider.fields}
      <div class="stack">
        ${ways.providers.map(
          (name) =>
            html`<button class="plain" type="submit" name="provider" value="${name}">
              Continue with ${providerLabel(name)}
            </button> `,
        )}
      </div>
    </form>`
}
