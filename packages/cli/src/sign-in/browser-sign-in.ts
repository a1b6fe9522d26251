import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import pTimeout from 'p-timeout'
import type { HttpClient } from '../api/http-client.js'
import { InterruptedError, NotSignedInError } from '../errors.js'
import type { Output } from '../output/output.js'
import type { AccountAccess } from './account-access.js'
import { AuthorizationServer, type Tokens } from './authorization-server.js'
import { openBrowser } from './browser.js'
import { startCallbackServer } from './callback-server.js'

type Options = {
  serviceUrl: string
  http: HttpClient
  output: Output
  /** False to only print the address. */
  open: boolean
  /** The program from BROWSER. */
  browser: string | undefined
  signal: AbortSignal
}

/** The service keeps a started sign-in for this long. */
const TIME_LIMIT_MS = 10 * 60_000

/** Signs in with an authorization code and PKCE in the user's browser (RFC 8252, decision 0100). */
export async function signInWithBrowser(options: Options): Promise<AccountAccess> {
  const server = await AuthorizationServer.discover(options.serviceUrl, options.http)
  const tokens = await authorize(server, options)
  return {
    bearer: tokens.accessToken,
    email: tokens.email,
    release: () => server.revoke(tokens.refreshToken ?? tokens.accessToken),
  }
}

async function authorize(server: AuthorizationServer, options: Options): Promise<Tokens> {
  const state = generateRandomState()
  const verifier = generateRandomCodeVerifier()
  const callback = await startCallbackServer(state)
  try {
    const { redirectUri } = callback
    const challenge = await calculatePKCECodeChallenge(verifier)
    await show(server.authorizationUrl({ redirectUri, state, challenge }), options)
    const answer = await withTimeLimit(callback.received, options.signal)
    return await server.redeem(answer, { redirectUri, state, verifier })
  } finally {
    await callback.close()
  }
}

/** Always prints the address: the browser may open on another screen, or not at all. */
async function show(url: URL, { output, open, browser }: Options): Promise<void> {
  const isOpen = open && (await openBrowser(url, browser))
  output.notice(isOpen ? 'Opening your browser. If nothing happens, visit:' : 'To sign in, visit:')
  output.notice(`  ${url.href}`)
  output.note('Waiting for the browser. Ctrl-C stops; without a browser use --password.')
}

const withTimeLimit = (
  received: Promise<URLSearchParams>,
  interrupted: AbortSignal,
): Promise<URLSearchParams> =>
  pTimeout(received, {
    milliseconds: TIME_LIMIT_MS,
    message: new NotSignedInError('Nobody signed in within 10 minutes', { hint: 'Run the command again.' }),
    signal: interrupted,
  }).catch((error: unknown) => {
    throw interrupted.aborted ? new InterruptedError() : error
  })
