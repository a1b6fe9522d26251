import { failureOf, isRecord } from '../api/refusals.js'
import { notThisService, type HttpAnswer, type HttpClient } from '../api/http-client.js'
import { NotSignedInError, RefusedError } from '../errors.js'

export type Factor = { id: string; type: 'totp' | 'phone' }
/** `hasOthers`: the account has second factors that need a browser, such as security keys. */
export type UserSession = { jwt: string; email: string; factors: Factor[]; hasOthers: boolean }

/** Selects the error format `{code, message}` of the identity service. */
const API_VERSION = { 'x-supabase-api-version': '2024-01-01' }
const CREDENTIAL = { whenInvalid: 'Sign in again.' }
const ADVICE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    invalid_credentials: 'Check the email address and the password.',
    email_not_confirmed: 'Follow the link in the confirmation email first.',
    captcha_failed: 'This service asks for a CAPTCHA: sign in with the browser, without --password.',
  }),
)

/** The calls to the identity service that a sign-in with a password needs. */
export class IdentityClient {
  constructor(
    private readonly http: HttpClient,
    private readonly baseUrl: string,
  ) {}

  /** `address` is an email address, or a phone number such as +4915112345678. */
  async signIn(address: string, password: string): Promise<UserSession> {
    const key = /^\+[1-9][0-9]{6,14}$/.test(address) ? 'phone' : 'email'
    return session(await this.#post('/token?grant_type=password', { [key]: address, password }))
  }

  /** Starts the check of a second factor and returns the challenge's id. For a phone, this sends the code. */
  async challenge(jwt: string, { id }: Factor): Promise<string> {
    const { body, status, url } = await this.#post(`/factors/${encodeURIComponent(id)}/challenge`, {}, jwt)
    if (!isRecord(body) || typeof body['id'] !== 'string') throw notThisService(status, url)
    return body['id']
  }

  async verify(jwt: string, { id }: Factor, challengeId: string, code: string): Promise<UserSession> {
    const path = `/factors/${encodeURIComponent(id)}/verify`
    return session(await this.#post(path, { challenge_id: challengeId, code }, jwt))
  }

  async #post(path: string, body: unknown, bearer?: string): Promise<HttpAnswer> {
    const answer = await this.http.send({
      method: 'POST',
      url: new URL(this.baseUrl + path),
      body,
      headers: API_VERSION,
      ...(bearer === undefined ? {} : { bearer }),
    })
    if (answer.status === 200) return answer
    const failure = failureOf(answer, CREDENTIAL)
    if (!(failure instanceof RefusedError)) throw failure
    const hint = ADVICE.get(failure.code) ?? failure.hint
    // To a script, wrong credentials mean the same as an invalid token: someone must sign in.
    throw failure.code === 'invalid_credentials'
      ? new NotSignedInError(failure.message, { hint })
      : new RefusedError(failure.code, failure.message, { hint })
  }
}

function session({ body, status, url }: HttpAnswer): UserSession {
  if (!isRecord(body) || typeof body['access_token'] !== 'string' || !isRecord(body['user'])) {
    throw notThisService(status, url)
  }
  const { email, factors } = body['user']
  const verified = (Array.isArray(factors) ? factors : []).filter(isVerified)
  const usable = verified.flatMap(usableFactor)
  return {
    jwt: body['access_token'],
    email: typeof email === 'string' ? email : '',
    factors: usable,
    hasOthers: usable.length < verified.length,
  }
}

const isVerified = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && value['status'] === 'verified'

function usableFactor(value: Record<string, unknown>): Factor[] {
  const { id, factor_type: type } = value
  return typeof id === 'string' && (type === 'totp' || type === 'phone') ? [{ id, type }] : []
}
