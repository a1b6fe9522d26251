/** The identity server rate-limits us or the browser's address (429). */
export class IdentityBusyError extends Error {
  override readonly name = 'IdentityBusyError'

  constructor(readonly retryAfterSeconds: number) {
    super('The identity server is not accepting more requests right now')
  }
}

/** The identity server did not answer in time, failed, or sent an invalid response. */
export class IdentityUnavailableError extends Error {
  override readonly name = 'IdentityUnavailableError'
}

/** The result of exchanging a code: the person's JWT, and whether the account has a second factor. */
export type ExchangedCode = SignedInUser & { readonly accessToken: string }

/** `hasSecondFactor`: whether the account has a confirmed second factor. */
export type SignedInUser = { readonly hasSecondFactor: boolean }

/** `locale` is the account's language as it states it, in any form. */
export type Mailbox = { readonly address: string; readonly locale: unknown }

export type UserState = 'active' | 'gone' | 'banned'

export type TimeLimit = (ms: number) => AbortSignal

export type IdentityClientOptions = {
  url: string
  /** Header in which the server expects the address of the browser. */
  clientIpHeader?: string | undefined
  /** Admin JWT for requests about users. */
  serviceToken?: string | undefined
  now: () => Date
  /** The signal that ends a call after this many milliseconds; `AbortSignal.timeout` by default. */
  timeLimit?: TimeLimit | undefined
}

const TIMEOUT_MS = 5000
const USER_STATE_TIMEOUT_MS = 2000
/** The identity server reports an ended session before its JWT expires, but only to callers that name a version. */
const API_VERSION = '2024-01-01'
const MAX_ANSWER_BYTES = 256 * 1024

type Call = {
  path: string
  method?: 'GET' | 'POST'
  body?: object
  bearer?: string
  apiVersion?: string
  clientIp?: string
  timeoutMs?: number
}
type Reply = { status: number; body: Record<string, unknown> }

/**
 * Calls the identity server. Methods return null if it refused (4xx) and throw IdentityBusyError or IdentityUnavailableError. This
 * client drops refresh tokens, and never calls logout, which would end every session of the user.
 */
export class IdentityClient {
  constructor(private readonly options: IdentityClientOptions) {}

  /** `POST /token?grant_type=pkce`. Null for a code that is unknown, used, expired or belongs to another verifier. */
  async exchangeCode(
    { code, verifier }: { code: string; verifier: string },
    clientIp: string,
  ): Promise<ExchangedCode | null> {
    const reply = await this.#call({
      path: '/token?grant_type=pkce',
      body: { auth_code: code, code_verifier: verifier },
      clientIp,
    })
    return reply.status === 200 ? readExchange(reply) : null
  }

  /** `GET /user` with a user's JWT. Null if its session has ended, or if the user was deleted or banned. */
  async signedInUser(jwt: string): Promise<SignedInUser | null> {
    const { status, body } = await this.#call({
      path: '/user',
      method: 'GET',
      bearer: jwt,
      apiVersion: API_VERSION,
      timeoutMs: USER_STATE_TIMEOUT_MS,
    })
    return status === 200 ? { hasSecondFactor: hasVerifiedFactor(body) } : null
  }

  /** Whether this client may ask about users at all. */
  get canAskAboutUsers(): boolean {
    return this.options.serviceToken !== undefined
  }

  async userState(accountId: string): Promise<UserState> {
    const user = await this.#findUser(accountId)
    if (user === null) return 'gone'
    return this.#isBanned(user) ? 'banned' : 'active'
  }

  /** The current email address of an account, or null if it has no confirmed one. */
  async findMailbox(accountId: string): Promise<Mailbox | null> {
    const user = await this.#findUser(accountId)
    if (user === null || this.#isBanned(user)) return null
    const { email, email_confirmed_at: confirmedAt, user_metadata: metadata } = user
    if (typeof email !== 'string' || email === '' || typeof confirmedAt !== 'string') return null
    return { address: email, locale: isObject(metadata) ? metadata['locale'] : undefined }
  }

  /** `GET /admin/users/{id}` with the service credential. Null if the user no longer exists. */
  async #findUser(accountId: string): Promise<Record<string, unknown> | null> {
    const { status, body } = await this.#call({
      path: `/admin/users/${encodeURIComponent(accountId)}`,
      method: 'GET',
      bearer: this.options.serviceToken ?? '',
      timeoutMs: USER_STATE_TIMEOUT_MS,
    })
    // Any other 404 comes from a wrong address or a proxy, and must not sign anyone out.
    if (status === 404 && body['error_code'] === 'user_not_found') return null
    if (status !== 200) throw new IdentityUnavailableError(`the identity server answered ${status}`)
    return typeof body['deleted_at'] === 'string' ? null : body
  }

  #isBanned({ banned_until: bannedUntil }: Record<string, unknown>): boolean {
    return typeof bannedUntil === 'string' && new Date(bannedUntil) > this.options.now()
  }

  async #call(call: Call): Promise<Reply> {
    const { path, method = 'POST', body, bearer, apiVersion, clientIp, timeoutMs = TIMEOUT_MS } = call
    const { url, clientIpHeader, timeLimit = (ms) => AbortSignal.timeout(ms) } = this.options
    const headers: Record<string, string> = { accept: 'application/json' }
    if (body) headers['content-type'] = 'application/json'
    if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`
    if (apiVersion !== undefined) headers['x-supabase-api-version'] = apiVersion
    if (clientIpHeader !== undefined && clientIp !== undefined) headers[clientIpHeader] = clientIp
    const reply = await send(`${url}${path}`, {
      method,
      headers,
      redirect: 'error',
      signal: timeLimit(timeoutMs),
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (reply.status === 429) throw new IdentityBusyError(reply.retryAfterSeconds)
    if (reply.status >= 500)
      throw new IdentityUnavailableError(`the identity server answered ${reply.status}`)
    return reply
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

async function send(url: string, init: RequestInit): Promise<Reply & { retryAfterSeconds: number }> {
  try {
    const response = await fetch(url, init)
    const text = await response.text()
    if (text.length > MAX_ANSWER_BYTES) throw new Error('the answer is too large')
    const retryAfter = Number(response.headers.get('retry-after'))
    return {
      status: response.status,
      body: parseObject(text, response.ok),
      retryAfterSeconds: retryAfter > 0 ? retryAfter : 60,
    }
  } catch (error) {
    throw new IdentityUnavailableError('the identity server gave no usable answer', { cause: error })
  }
}

/** A refusal may come from a proxy, so it may not be JSON. A success must be JSON. */
function parseObject(text: string, required: boolean): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>
  } catch (error) {
    if (required) throw error
  }
  if (required) throw new Error('the answer is not a JSON object')
  return {}
}

function readExchange({ body }: Reply): ExchangedCode {
  const { access_token: accessToken, user } = body
  if (typeof accessToken !== 'string' || typeof user !== 'object' || user === null)
    throw new IdentityUnavailableError('the identity server answered without an access token or its user')
  return { accessToken, hasSecondFactor: hasVerifiedFactor(user) }
}

function hasVerifiedFactor({ factors }: { factors?: unknown }): boolean {
  return (
    Array.isArray(factors) && (factors as { status?: unknown }[]).some(({ status }) => status === 'verified')
  )
}
