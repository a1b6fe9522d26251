import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { readableTime } from '../output/text.js'
import { activeToken, apiFor, type ActiveToken } from './active-token.js'

const SOURCES: Readonly<Record<ActiveToken['source'], string>> = {
  environment: 'SIGNET_TOKEN',
  keychain: 'system keychain',
  file: 'file',
}

export function whoamiCommand(parent: Command, host: Host): void {
  defineCommand(parent, 'whoami', 'show who is signed in, and check the token with the service', {
    examples: ['signet whoami'],
  }).action(run(host, whoami))
}

async function whoami(context: Context): Promise<void> {
  const active = await activeToken(context)
  // No route says whose token it is, so this only checks that the service accepts it.
  await apiFor(context, active).listWebhooks()
  const { serviceUrl, source } = active
  const { email, token } = source === 'environment' ? { email: '', token: null } : active.signIn
  const known = token && { id: token.id, name: token.name, hint: token.hint, expires_at: token.expiresAt }
  context.output.fields({ url: serviceUrl, email, token: known ?? {}, source }, [
    ['Service', serviceUrl],
    ['Account', email || 'not known for a token of SIGNET_TOKEN'],
    ...(token ? ([['Token', `${token.hint} (${token.name})`]] as const) : []),
    ...(token ? ([['Expires', readableTime(token.expiresAt)]] as const) : []),
    ['Token from', SOURCES[source]],
  ])
}
