import { DEFAULT_IDENTITY_URL, DEFAULT_SERVICE_URL } from './addresses.js'
import type { Context } from './context.js'
import { UsageError } from '../errors.js'

/** The service to talk to: from the option, the variable or the last sign-in, otherwise the one that `npm start` runs. */
export async function serviceUrlOf({ settings, store }: Context): Promise<string> {
  return settings.serviceUrl ?? (await store.currentService()) ?? DEFAULT_SERVICE_URL
}

/** The identity service that was given for this service, now or at an earlier sign-in. */
export async function knownIdentityUrlOf({ settings, store }: Context, serviceUrl: string) {
  return settings.identityUrl ?? (await store.find(serviceUrl))?.identityUrl
}

/** The identity service that belongs to this service. It is never guessed: a password must not be sent to another server. */
export async function identityUrlOf(context: Context, serviceUrl: string): Promise<string> {
  const known = await knownIdentityUrlOf(context, serviceUrl)
  if (known !== undefined) return known
  if (serviceUrl === DEFAULT_SERVICE_URL) return DEFAULT_IDENTITY_URL
  throw new UsageError(`The identity service of ${serviceUrl} is not known`, {
    hint: 'Give its address with --auth-url or SIGNET_AUTH_URL, or sign in with the browser, without --password.',
  })
}
