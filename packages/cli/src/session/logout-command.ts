import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { NetworkError, NotSignedInError, ServerFailureError, UsageError } from '../errors.js'
import { apiFor, type ActiveToken } from './active-token.js'
import { serviceUrlOf } from '../command/service-address.js'

type Options = { local?: boolean }

export function logoutCommand(parent: Command, host: Host): void {
  defineCommand(parent, 'logout', 'revoke the stored token and forget it', {
    examples: ['signet logout', 'signet logout --local'],
  })
    .option('--local', 'only forget it here; the token itself stays valid')
    .action(run<Options>(host, logout))
}

async function logout(context: Context, { local }: Options): Promise<void> {
  const { output, settings, store } = context
  if (settings.token !== undefined) {
    throw new UsageError('SIGNET_TOKEN is set, but logout applies to the stored token', {
      hint: 'Unset SIGNET_TOKEN first. To revoke the token in it: `signet api DELETE /account/tokens/current`.',
    })
  }
  const serviceUrl = await serviceUrlOf(context)
  const stored = await store.find(serviceUrl)
  if (stored === null) throw new NotSignedInError(`You are not signed in to ${serviceUrl}`)
  const token = local ? null : await store.token(stored)
  const isRevoked =
    token !== null &&
    (await revokeStored(context, { serviceUrl, token, source: stored.place, signIn: stored }))
  await store.remove(stored)
  output.result({ url: serviceUrl, revoked: isRevoked }, () =>
    isRevoked
      ? `Signed out of ${serviceUrl}; the token is revoked.`
      : `Signed out of ${serviceUrl} on this computer only.`,
  )
}

/** Keeps the token if the service cannot be reached, because nothing here could revoke it later without it. */
async function revokeStored(context: Context, active: ActiveToken): Promise<boolean> {
  try {
    await apiFor(context, active).revokeCurrentToken()
    return true
  } catch (error) {
    if (error instanceof NetworkError || error instanceof ServerFailureError) {
      error.hint = 'You are still signed in. Try again, or use `signet logout --local`.'
    }
    // The token was revoked elsewhere or has expired, so there is nothing to revoke.
    if (error instanceof NotSignedInError) return true
    throw error
  }
}
