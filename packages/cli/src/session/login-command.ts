import { hostname } from 'node:os'
import type { Command } from 'commander'
import { ApiClient } from '../api/api-client.js'
import type { CreatedToken } from '../api/types.js'
import type { Context } from '../command/context.js'
import { defineCommand, integerOption, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import type { SignIn, TokenPlace } from '../credentials/sign-in-record.js'
import { CliError } from '../errors.js'
import { printable, readableTime } from '../output/text.js'
import {
  signInOptions,
  withAccountSession,
  type AccountSession,
  type SignInOptions,
} from '../sign-in/sign-in.js'
import { serviceUrlOf } from '../command/service-address.js'

type Options = SignInOptions & { name?: string; expiresInDays?: number }

const MAX_NAME_LENGTH = 100

export function loginCommand(parent: Command, host: Host): void {
  const command = defineCommand(parent, 'login', 'sign in and store a personal token', {
    signsIn: true,
    examples: [
      'signet login',
      'signet login --password --email ana@example.com < password.txt',
      'signet login --profile staging --url https://hooks.staging.example.com',
    ],
  })
  signInOptions(command)
    .option('--name <text>', 'name of the token (default: signet on <this computer>)')
    .addOption(integerOption('--expires-in-days <days>', 'life of the token (default 90)', 1, 365))
    .action(run<Options>(host, login))
}

async function login(context: Context, options: Options): Promise<void> {
  const { output, settings, store } = context
  const serviceUrl = await serviceUrlOf(context)
  // Read before signing in: if the stored sign-ins are damaged, people should find out now.
  const replaced = await storedToken(context, serviceUrl)
  const { signIn, place } = await withAccountSession(context, serviceUrl, options, async (session) => {
    const created = await session.tokens.createToken({
      name: options.name ?? `signet on ${hostname()}`.slice(0, MAX_NAME_LENGTH),
      ...(options.expiresInDays === undefined ? {} : { expires_in_days: options.expiresInDays }),
    })
    const signIn = signInOf(serviceUrl, session, created)
    return { signIn, place: await keep(context, signIn, created.token) }
  })
  if (replaced !== null) await revoke(context, serviceUrl, replaced)

  const { email, token } = signIn
  const { expiresAt: expires_at, ...shown } = token
  output.result({ url: serviceUrl, email, token: { ...shown, expires_at }, stored_in: place }, (paint) =>
    [
      paint('green', `Signed in to ${serviceUrl}${email === '' ? '' : ` as ${printable(email)}`}.`),
      printable(`The token ${token.hint} expires ${readableTime(expires_at)}.`),
      `It is stored in ${place === 'keychain' ? 'the system keychain' : store.path}.`,
    ].join('\n'),
  )
  if (settings.token !== undefined) {
    output.warn('SIGNET_TOKEN is set and will be used in place of the stored token.')
  }
}

function signInOf(
  serviceUrl: string,
  { email, identityUrl }: AccountSession,
  { id, name, hint, expires_at: expiresAt }: CreatedToken,
): SignIn {
  const known = identityUrl === undefined ? {} : { identityUrl }
  return { serviceUrl, ...known, email, token: { id, name, hint, expiresAt } }
}

/** Stores the new token, or revokes it if it cannot be stored: an unusable token must not stay valid. */
async function keep(context: Context, signIn: SignIn, token: string): Promise<TokenPlace> {
  const { store, output } = context
  const { id, hint } = signIn.token
  try {
    return await store.save(signIn, token)
  } catch (error) {
    const isRevoked = await revoke(context, signIn.serviceUrl, token)
    if (!isRevoked) output.warn(`The token ${hint} is valid but not stored: \`signet token revoke ${id}\``)
    throw error
  }
}

/** The token that the new one replaces, so that signing in again leaves no old token valid. */
async function storedToken({ store }: Context, serviceUrl: string): Promise<string | null> {
  const stored = await store.find(serviceUrl)
  // A keychain that can no longer be opened must not prevent signing in again.
  return stored && store.token(stored).catch(() => null)
}

/** Revokes the token, and returns whether it is revoked now. One that had expired or was already revoked counts as revoked. */
async function revoke({ http }: Context, serviceUrl: string, token: string): Promise<boolean> {
  const credential = { bearer: token, whenInvalid: '' }
  try {
    await new ApiClient({ http, baseUrl: serviceUrl, credential }).revokeCurrentToken()
    return true
  } catch (error) {
    if (error instanceof CliError) return false
    throw error
  }
}
