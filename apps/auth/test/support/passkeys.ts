import { expect } from '@jest/globals'
import { SoftwareAuthenticator } from '@signet/testkit'
import { post, type ApiAnswer, type Json, type Session } from './api.js'
import { SITE, type TestServer } from './server.js'

type Bearer = { access_token: string }
type Creation = Parameters<SoftwareAuthenticator['create']>
type Request = Parameters<SoftwareAuthenticator['get']>
type Asked<Options> = { challenge_id: string; options: Options; expires_at: number }

export const PASSKEY_ENVIRONMENT = {
  AUTH_PASSKEY_ENABLED: 'true',
  AUTH_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
  AUTH_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true',
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true',
  AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '100000',
}

export const anAuthenticator = (
  options: Partial<ConstructorParameters<typeof SoftwareAuthenticator>[0]> = {},
) => new SoftwareAuthenticator({ origin: SITE, ...options })

/** What users do with passkeys, on the server that a test file starts. */
export function passkeySteps(serverOf: () => TestServer) {
  const startRegistration = async ({ access_token: token }: Bearer) =>
    (await post(serverOf(), '/passkeys/registration/options', {}, { token })).body as Asked<Creation[0]>

  const finishRegistration = (
    { access_token: token }: Bearer,
    asked: Pick<Asked<unknown>, 'challenge_id'>,
    credential: object,
  ): Promise<ApiAnswer> =>
    post(
      serverOf(),
      '/passkeys/registration/verify',
      { challenge_id: asked.challenge_id, credential },
      { token },
    )

  /** Registers a passkey, and returns it as the API shows it. */
  async function register(
    user: Bearer,
    authenticator: SoftwareAuthenticator,
  ): Promise<Json & { id: string }> {
    const asked = await startRegistration(user)
    const answer = await finishRegistration(user, asked, authenticator.create(asked.options))
    expect(answer.status).toBe(200)
    return answer.body as Json & { id: string }
  }

  const startSignIn = async () =>
    (await post(serverOf(), '/passkeys/authentication/options', {})).body as Asked<Request[0]>

  const finishSignIn = (
    asked: Pick<Asked<unknown>, 'challenge_id'>,
    credential: object,
  ): Promise<ApiAnswer> =>
    post(serverOf(), '/passkeys/authentication/verify', { challenge_id: asked.challenge_id, credential })

  async function trySignIn(authenticator: SoftwareAuthenticator, lies: Request[1] = {}): Promise<ApiAnswer> {
    const asked = await startSignIn()
    return finishSignIn(asked, authenticator.get(asked.options, lies))
  }

  async function signIn(authenticator: SoftwareAuthenticator): Promise<Session> {
    const answer = await trySignIn(authenticator)
    expect(answer.status).toBe(200)
    return answer.body as Session
  }

  return { startRegistration, finishRegistration, register, startSignIn, finishSignIn, trySignIn, signIn }
}
