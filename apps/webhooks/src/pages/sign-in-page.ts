import {
  type Captcha,
  captchaPolicy,
  captchaWidget,
  hidden,
  type Html,
  html,
  notice,
  type Page,
} from '@signet/pages'
import { providerLabel } from '@signet/pages/provider-label'

export type SignInView = {
  clientName: string
  action: string
  txn: string
  csrf: string
  /** What was typed before; never the password. */
  identifier?: string
  notice?: string
  /** Where the same form requests a link by email instead; undefined when that is off. */
  mailAction?: string | undefined
  providers: readonly { name: string; href: string }[]
  captcha: Captcha | null
}

export const signInPage = (view: SignInView): Page => ({
  title: 'Sign in',
  allow: view.captcha ? captchaPolicy(view.captcha) : {},
  body: html`<h1>Sign in</h1>
    <p class="soft">
      to continue to <strong><bdi>${view.clientName}</bdi></strong>
    </p>
    ${notice(view.notice)}
    <form method="post" action="${view.action}">
      ${hidden({ txn: view.txn, csrf: view.csrf })}
      <label for="identifier">Email or phone number</label>
      <input
        id="identifier"
        name="identifier"
        type="text"
        inputmode="email"
        autocomplete="username"
        autocapitalize="none"
        spellcheck="false"
        maxlength="320"
        required
        value="${view.identifier ?? ''}"
      />
      <label for="password">Password</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        maxlength="1024"
        required
      />
      ${view.captcha && captchaWidget(view.captcha)}
      <button type="submit">Sign in</button>
      ${otherWays(view)}
    </form>`,
})

function otherWays({ mailAction, providers }: SignInView): Html | null {
  if (mailAction === undefined && providers.length === 0) return null
  return html`<p class="or">or</p>
    <div class="stack">
      ${
        mailAction === undefined
          ? null
          : html`<button class="plain" type="submit" formaction="${mailAction}" formnovalidate>
              Email me a sign-in link
            </button> `
      }${providers.map(
        ({ name, href }) =>
          html`<a class="button plain" href="${href}">Continue with ${providerLabel(name)}</a> `,
      )}
    </div>`
}

/** The same whether there is such an account or not. */
export const mailSentPage = ({ email }: { email: string }): Page => ({
  title: 'Check your email',
  body: html`<h1>Check your email</h1>
    <p>If there is an account for <strong>${email}</strong>, a sign-in link is on its way.</p>
    <p class="soft">Open it in this browser, within ten minutes. You can close this page.</p>`,
})
