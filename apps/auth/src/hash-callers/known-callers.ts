import type { Admin } from '../administrators/admin.js'
import type { HashCaller } from '../passwords/hash-caller.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { Live, SignedIn } from '../sessions/session.js'

type Requester = Pick<RequestMeta, 'signal'> & { readonly client: { readonly key: string } }

/** Has proven nothing yet. */
export const stranger = (requester: Requester): HashCaller => callerOf(requester, false)

/** Has proven nothing yet, either; `isKnown` tells whether the account knows the network. */
export const inNetwork = (requester: Requester, isKnown: boolean): HashCaller => callerOf(requester, isKnown)

/**
 * Acts with authority, from whatever network. The sessions of guests are none: anyone may open one without proving anything.
 */
export const authorized = (authority: Admin | Live | SignedIn, requester: Requester): HashCaller =>
  callerOf(requester, !('user' in authority && authority.user.isAnonymous))

function callerOf({ client, signal }: Requester, isKnown: boolean): HashCaller {
  return { client, isKnown, ...(signal && { signal }) }
}
