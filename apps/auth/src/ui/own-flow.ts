import { type Caller } from './desk.js'
import { type UiDeps } from './ui-deps.js'
import { withVisit, type Visit } from './visit.js'

/** The PKCE challenge and the way back of a flow that leaves the pages, by mail or through a provider. */
export function ownFlow({ state, returnUrl }: UiDeps, { browser }: Pick<Caller, 'browser'>, visit: Visit) {
  const { challenge, method } = state.challenge(browser, visit)
  return {
    challenge: { code_challenge: challenge, code_challenge_method: method },
    redirectTo: withVisit(returnUrl, visit),
  }
}
