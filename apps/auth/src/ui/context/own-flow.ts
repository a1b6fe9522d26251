import type { Caller } from './sign-in-pages.js'
import type { UiDeps } from './ui-deps.js'
import { proved, withContext, type SignInContext } from './sign-in-context.js'

/** The PKCE challenge and return URL of a flow that leaves the pages, by email or through a provider. */
export function ownFlow(
  { state, returnUrl }: UiDeps,
  { browser }: Pick<Caller, 'browser'>,
  from: SignInContext,
) {
  const context = proved(from)
  const { challenge, method } = state.challenge(browser, context)
  return {
    challenge: { code_challenge: challenge, code_challenge_method: method },
    redirectTo: withContext(returnUrl, context),
  }
}
