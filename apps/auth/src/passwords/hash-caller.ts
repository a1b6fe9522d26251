import type { Admin } from '../administrators/admin.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { Live, SignedIn } from '../sessions/session.js'

/**
 * Whom a hash is for. Waiting jobs take turns by the network of their client, and strangers wait apart from all who are known
 * (decision 0031). No request is one by itself: who asks for a hash says by one of these functions what the request has proven.
 */
export type HashCaller = {
  readonly client: { readonly key: string }
  readonly isKnown: boolean
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}

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
