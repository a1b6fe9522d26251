import { hidden, html, type Page } from '@signet/pages'
import { providerLabel } from '@signet/pages/provider-label'

export type LinkView = {
  provider: string
  account: string
  action: string
  fields: Readonly<Record<string, string>>
}

/** Asks for confirmation before adding a sign-in method, and names the account. */
export const linkPage = ({ provider, account, action, fields }: LinkView): Page => {
  const label = providerLabel(provider)
  return {
    title: `Sign in with ${label}`,
    body: html`<h1>Sign in with ${label} from now on?</h1>
      <p>Your ${label} account will become a way to sign in to the account of <strong>${account}</strong>.</p>
      <p>If that is not your account, or if you did not start this yourself, close this page.</p>
      <form method="post" action="${action}">
        ${hidden(fields)}
        <button type="submit">Continue to ${label}</button>
      </form>`,
  }
}
