import { ApiClient } from '../api/api-client.js'
import type { Context } from '../command/context.js'
import type { StoredSignIn, TokenPlace } from '../credentials/sign-in-record.js'
import { NotSignedInError } from '../errors.js'
import { serviceUrlOf } from '../command/service-address.js'

/** The personal token that commands present, and where it came from. */
export type ActiveToken = {
  serviceUrl: string
  token: string
} & ({ source: 'environment' } | { source: TokenPlace; signIn: StoredSignIn })

/** Returns the token of SIGNET_TOKEN, otherwise the stored one. Throws if there is neither. */
export async function activeToken(context: Context): Promise<ActiveToken> {
  const { settings, store } = context
  const serviceUrl = await serviceUrlOf(context)
  if (settings.token !== undefined) return { serviceUrl, token: settings.token, source: 'environment' }
  const signIn = await store.find(serviceUrl)
  const token = signIn && (await store.token(signIn))
  if (!signIn || token === null) {
    throw new NotSignedInError(`You are not signed in to ${serviceUrl}`, {
      hint: 'Run `signet login`, or set SIGNET_TOKEN to a personal token.',
    })
  }
  return { serviceUrl, token, source: signIn.place, signIn }
}

/** An API client that presents the active token. */
export async function signedInApi(context: Context): Promise<ApiClient> {
  return apiFor(context, await activeToken(context))
}

export function apiFor({ http }: Context, { serviceUrl, token, source }: ActiveToken): ApiClient {
  const whenInvalid =
    source === 'environment'
      ? 'The token in SIGNET_TOKEN was not accepted: it was revoked, has expired, or is for another service.'
      : 'Your token was revoked, has expired, or was not used for 90 days. Run `signet login`.'
  return new ApiClient({ http, baseUrl: serviceUrl, credential: { bearer: token, whenInvalid } })
}
