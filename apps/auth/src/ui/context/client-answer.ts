import { withFragment, withQuery } from '../../verify/redirect-answer.js'
import { isLoopbackHost, type SignInContext } from './sign-in-context.js'

/** Why an application gets no session (RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6). */
export type ClientError = 'access_denied' | 'invalid_request' | 'login_required' | 'interaction_required'

const DESCRIPTIONS: Readonly<Record<ClientError, string>> = {
  access_denied: 'The person cancelled the sign-in.',
  invalid_request: 'prompt=none needs a code_challenge.',
  login_required: 'The person is not signed in, or did not sign in recently enough.',
  interaction_required: 'The person has to confirm this sign-in.',
}

type Waiting = Pick<SignInContext, 'challenge' | 'state'> & { readonly target: string }

/** Parameters for the waiting application: in the query of the PKCE flow, otherwise in the fragment. */
export function clientTarget(
  { target, challenge, state }: Waiting,
  parameters: Readonly<Record<string, string>>,
): string {
  const all = { ...parameters, ...(state === null ? {} : { state }) }
  return challenge === null ? withFragment(target.split('#', 1)[0] ?? '', all) : withQuery(target, all)
}

export const errorTarget = (waiting: Waiting, error: ClientError): string =>
  clientTarget(waiting, { error, error_description: DESCRIPTIONS[error] })

/**
 * Whether an application may get a session without the person noticing. Any program on a device can claim a loopback port or a URL scheme
 * (RFC 8252 section 8.6), so the person has to press a button there, except in development.
 */
export function isSilentTarget(target: string, externalUrl: string): boolean {
  const { protocol, hostname } = new URL(target)
  if (protocol === 'https:' && !isLoopbackHost(hostname)) return true
  return protocol === 'http:' && externalUrl.startsWith('http:')
}
