import type { RequestMeta } from '../../requests/request-meta.js'
import { deviceOf, type Device } from '../../requests/device.js'
import { outcome } from './outcome.js'
import type { Caller } from './sign-in-pages.js'
import type { UiDeps } from './ui-deps.js'
import { proved, withContext, type SignInContext } from './sign-in-context.js'

/** Who asked for a link, shown to the person who opens it somewhere else. */
export type LinkOrigin = {
  readonly device: Device
  readonly ip: string
  readonly at: number
  /** Identifies the request. The page that waits for the link has the same nonce. */
  readonly nonce: string
}

/** Marks a flow that began here, so that the page to which people return trusts the reason for a failure. */
export const LEFT = 'left-for-provider'

const labelOf = (challenge: string): string => `link origin ${challenge}`

/** The PKCE challenge and return URL of a flow that leaves the pages for a provider. */
export function ownFlow(deps: UiDeps, { browser }: Pick<Caller, 'browser'>, from: SignInContext) {
  const context = proved(from)
  const { challenge, method } = deps.state.challenge(browser, context)
  return {
    challenge: { code_challenge: challenge, code_challenge_method: method },
    redirectTo: withContext(deps.returnUrl, context, outcome(deps, browser, LEFT)),
  }
}

/** The same as {@link ownFlow}, for an email. Its link also says who asked for it. */
export function emailFlow(
  deps: UiDeps,
  caller: Pick<Caller, 'browser'>,
  from: SignInContext,
  nonce: string,
  { userAgent, ip }: RequestMeta,
) {
  const { challenge } = ownFlow(deps, caller, from)
  const origin: LinkOrigin = { device: deviceOf(userAgent), ip, at: deps.now().getTime(), nonce }
  const asked = deps.state.seal(labelOf(challenge.code_challenge), origin)
  return { challenge, redirectTo: withContext(deps.returnUrl, proved(from), { asked }) }
}

/**
 * Where and when a link was requested on these pages; null for every other link. It is sealed together with the challenge of the link. So
 * nobody can pass off the link of an application, which alone has the verifier, as one of ours.
 */
export const linkOrigin = (
  { state }: Pick<UiDeps, 'state'>,
  challenge: string,
  asked: string,
): LinkOrigin | null => state.open<LinkOrigin>(labelOf(challenge), asked)
