import { html, type Html } from './html.js'
import { type Page } from './page.js'

export type SignInView = {
  clientName: string
  action: string
  txn: string
  csrf: string
  /** What was typed before; never the password. */
  identifier?: string
  notice?: string
}

export const signInPage = (view: SignInView): Page => ({
  title: 'Sign in',
  body: html`<h1>Sign in</h1>
    <p class="soft">to continue to <strong>${view.clientName}</strong></p>
    ${notice(view.notice)}
    <form method="post" action="${view.action}">
      ${hidden({ txn: view.txn, csrf: view.csrf })}
      <label for="identifier">E-mail or phone number</label>
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
      <button type="submit">Sign in</button>
    </form>`,
})

export const notice = (text: string | undefined): Html | null =>
  text === undefined ? null : html`<p class="notice" role="alert">${text}</p>`

export const hidden = (fields: Readonly<Record<string, string>>): Html[] =>
  Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" /> `,
  )
