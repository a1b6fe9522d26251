import type { Command } from 'commander'
import { ApiClient } from '../api/api-client.js'
import type { Context } from '../command/context.js'
import { CliError, NotSignedInError, UsageError } from '../errors.js'
import { identityUrlOf, knownIdentityUrlOf } from '../command/service-address.js'
import type { AccountAccess } from './account-access.js'
import { signInWithBrowser } from './browser-sign-in.js'
import { signInWithPassword } from './password-sign-in.js'

export type SignInOptions = { password?: boolean; email?: string; browser?: boolean }

export type AccountSession = { tokens: ApiClient; email: string; identityUrl: string | undefined }

/** Adds the options for signing in, the same for every command that signs in. */
export function signInOptions(command: Command): Command {
  return command
    .option('--password', 'sign in with a password, asked for or read from stdin, without a browser')
    .option('--email <address>', 'account for --password: email address or phone number')
    .option('--no-browser', 'print the address to visit instead of opening it')
}

/** Signs in, lets `work` manage the account's tokens, and always ends the access afterwards. */
export async function withAccountSession<T>(
  context: Context,
  serviceUrl: string,
  options: SignInOptions,
  work: (session: AccountSession) => Promise<T>,
): Promise<T> {
  if (options.email !== undefined && !options.password) {
    throw new UsageError('--email goes with --password; in the browser the page asks for it')
  }
  const identityUrl = await (options.password ? identityUrlOf : knownIdentityUrlOf)(context, serviceUrl)
  const access = await signIn(context, serviceUrl, identityUrl, options)
  try {
    const tokens = new ApiClient({
      http: context.http,
      baseUrl: serviceUrl,
      credential: {
        bearer: access.bearer,
        whenInvalid: 'The sign-in was not accepted by the webhooks service. Sign in again.',
      },
    })
    return await work({ tokens, email: access.email, identityUrl })
  } finally {
    await giveBack(context, access)
  }
}

async function signIn(
  { http, output, prompter, settings, interruption }: Context,
  serviceUrl: string,
  identityUrl: string | undefined,
  { password, email, browser: open = true }: SignInOptions,
): Promise<AccountAccess> {
  if (password && identityUrl !== undefined) return signInWithPassword({ http, prompter, identityUrl, email })
  const { browser } = settings
  // Without a terminal nobody would see the address, and the command would wait for minutes.
  if (open && browser === undefined && !prompter.isInteractive && !output.isSeen) {
    throw new NotSignedInError('There is no terminal, so nobody could sign in with the browser', {
      hint: 'Set SIGNET_TOKEN to a personal token, or use --password with the password on stdin. With --no-browser the address is printed instead.',
    })
  }
  return signInWithBrowser({ http, output, serviceUrl, open, browser, signal: interruption() })
}

/** The access would expire within 90 days anyway, so failing to end it now does not fail the command. */
async function giveBack({ output }: Context, access: AccountAccess): Promise<void> {
  try {
    await access.release()
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    output.warn(`The sign-in could not be ended at once (${error.message}). It ends by itself.`)
  }
}
