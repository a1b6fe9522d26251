import type { HttpClient } from '../api/http-client.js'
import { NotSignedInError, UsageError } from '../errors.js'
import type { Prompter } from '../prompt/prompter.js'
import type { AccountAccess } from './account-access.js'
import { IdentityClient, type Factor, type UserSession } from './identity-client.js'

type Options = {
  identityUrl: string
  http: HttpClient
  prompter: Prompter
  /** If undefined, the user is asked for it. */
  email: string | undefined
}

const QUESTIONS: Readonly<Record<Factor['type'], string>> = {
  totp: 'Code of your authenticator app: ',
  phone: 'Code sent to your phone: ',
}

const OTHER_FACTOR = 'The second factor of this account, such as a security key, needs a browser'
const IN_BROWSER = 'Sign in with the browser, without --password.'

/**
 * Gets a user JWT from the identity service. The password goes to that service only. The refresh token is discarded, so the access ends
 * with the JWT, which can manage tokens for 15 minutes.
 */
export async function signInWithPassword(options: Options): Promise<AccountAccess> {
  const { http, identityUrl, prompter } = options
  const identity = new IdentityClient(http, identityUrl)
  const email = await requireEmail(options)
  const password = await prompter.askSecret('Password: ')
  if (password === '') throw new UsageError('The password is empty')
  const session = await identity.signIn(email, password)
  const { jwt, email: confirmed } = await withSecondFactor(identity, prompter, session)
  return { bearer: jwt, email: confirmed || email, release: () => Promise.resolve() }
}

async function requireEmail({ email, prompter }: Options): Promise<string> {
  if (email === undefined && !prompter.isInteractive) {
    throw new UsageError('Without a terminal, the account has to be given with --email', {
      hint: 'The first line of the input is the password.',
    })
  }
  const answer = (email ?? (await prompter.ask('Email: '))).trim()
  if (answer === '') throw new UsageError('The email address is empty')
  return answer
}

/** Requires a second factor if the account has one. Prefers an authenticator app, because it needs no message. */
async function withSecondFactor(
  identity: IdentityClient,
  prompter: Prompter,
  session: UserSession,
): Promise<UserSession> {
  const factor = session.factors.find(({ type }) => type === 'totp') ?? session.factors[0]
  if (factor === undefined && session.hasOthers)
    throw new NotSignedInError(OTHER_FACTOR, { hint: IN_BROWSER })
  if (factor === undefined) return session
  const challenge = await identity.challenge(session.jwt, factor)
  const code = (await prompter.ask(QUESTIONS[factor.type])).trim()
  return identity.verify(session.jwt, factor, challenge, code)
}
