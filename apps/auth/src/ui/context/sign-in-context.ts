import { challengeOf, type Challenge } from '../../flows/pkce.js'
import type { Redirects } from '../../redirects/redirects.js'

/** What a person came to sign in for; carried in the query of links and in hidden fields of forms. */
export type SignInContext = {
  /** Where to send the result; null when no application is waiting. */
  readonly target: string | null
  readonly challenge: Challenge | null
  /** A step to take between signing in and going on. */
  readonly next: 'password' | null
}

const MAX_TARGET_LENGTH = 2048

/**
 * The context that a query or form describes. It is checked at every step, so it need not be trusted: a target that
 * is not allowed is replaced by the site URL.
 */
export function signInContextOf(values: (name: string) => string, redirects: Redirects): SignInContext {
  const wanted = values('redirect_to')
  const accepted = wanted.length <= MAX_TARGET_LENGTH ? redirects.accepted(wanted) : null
  return {
    target: wanted === '' ? null : (accepted ?? redirects.siteUrl),
    challenge: challengeOf({
      code_challenge: values('code_challenge'),
      code_challenge_method: values('code_challenge_method'),
    }),
    next: values('next') === 'password' ? 'password' : null,
  }
}

/** The context as parameters, to be read by {@link signInContextOf}. */
export function contextFields({ target, challenge, next }: SignInContext): Record<string, string> {
  return {
    ...(target === null ? {} : { redirect_to: target }),
    ...(challenge === null
      ? {}
      : { code_challenge: challenge.challenge, code_challenge_method: challenge.method }),
    ...(next === null ? {} : { next }),
  }
}

/** A path with the context in its query. */
export function withContext(
  path: string,
  context: SignInContext,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({ ...contextFields(context), ...more }).toString()
  return query === '' ? path : `${path}?${query}`
}

/** The name of the waiting application, as people know it. */
export function siteOf({ target }: SignInContext): string | null {
  if (target === null) return null
  const { protocol, host, hostname } = new URL(target)
  if (protocol !== 'https:' && protocol !== 'http:') return 'an application on this device'
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  return isLoopback ? 'an application on this computer' : host
}
