import type { Admin } from '../administrators/admin.js'
import type { HashCaller } from '../passwords/hash-caller.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { Live, SignedIn } from '../sessions/session.js'

type Requester = Pick<RequestMeta, 'signal'> & { readonly client: { readonly key: string } }

/** A caller that has not proven anything yet. */
export const stranger = (requester: Requester): HashCaller => callerOf(requester, false)

/** A caller that has not proven anything yet either; `isKnown` says whether the account knows its network. */
export const inNetwork = (requester: Requester, isKnown: boolean): HashCaller => callerOf(requester, isKnown)

/** A caller with authority, in any network. A guest's session gives no authority: anyone can open one without proving anything. */
export const authorized = (authority: Admin | Live | SignedIn, requester: Requester): HashCaller =>
  callerOf(requester, !('user' in authority && authority.user.isAnonymous))

function callerOf({ client, signal }: Requester, isKnown: boolean): HashCaller {
  return { client, isKnown, ...(signal && { signal }) }
}
