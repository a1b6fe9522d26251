/** The identity server limits us or the browser's address (429). */
export class IdentityBusyError extends Error {
  override readonly name = 'IdentityBusyError'

  constructor(readonly retryAfterSeconds: number) {
    super('The identity server takes no more requests for now')
  }
}

/** The identity server did not answer in time, failed, or answered something that makes no sense. */
export class IdentityUnavailableError extends Error {
  override readonly name = 'IdentityUnavailableError'
}

/** A verified second factor of a user. */
export type Factor = { readonly id: string; readonly type: 'totp' | 'phone'; readonly name: string }

/** A session at the identity server: its JWT, and the factors that could raise it to aal2. */
export type IdentitySession = { readonly accessToken: string; readonly factors: readonly Factor[] }

export type PasswordSignIn = {
  /** An email address, or a phone number in E.164 form. */
  identifier: string
  password: string
  captchaToken?: string | undefined
}

export type UserState = 'active' | 'gone' | 'banned'

export type IdentityClientOptions = {
  url: string
  /** Header in which the server expects the address of the browser. */
  clientIpHeader?: string | undefined
  /** Admin JWT for questions about users. */
  serviceToken?: string | undefined
  now: () => Date
}

const TIMEOUT_MS = 5000
const USER_STATE_TIMEOUT_MS = 2000
/** Short, because a page waits for the answer. */
const SETTINGS_TIMEOUT_MS = 1000
const PHONE = /^\+[1-9][0-9]{6,14}$/
const MAX_ANSWER_BYTES = 256 * 1024

type Call = {
  path: string
  method?: 'GET' | 'POST'
  body?: object
  bearer?: string
  clientIp?: string
  timeoutMs?: number
  headers?: Readonly<Record<string, string>>
}
type Reply = { status: number; body: Record<string, unknown> }

/**
 * Speaks to the identity server. Methods answer null when it refused (4xx) and throw IdentityBusyError or
 * IdentityUnavailableError. Its refresh tokens are dropped, and its logout is never called: that would end every session
 * of the user.
 */
export class IdentityClient {
  constructor(private readonly options: IdentityClientOptions) {}

  /** `POST /token?grant_type=password`. */
  async signInWithPassword(input: PasswordSignIn, clientIp: string): Promise<IdentitySession | null> {
    const { identifier, password, captchaToken } = input
    const address = PHONE.test(identifier) ? { phone: identifier } : { email: identifier }
    const reply = await this.#call({
      path: '/token?grant_type=password',
      body: { ...address, password, ...(captchaToken === undefined ? {} : { captcha_token: captchaToken }) },
      clientIp,
    })
    return reply.status === 200 ? readSession(reply) : null
  }

  /** The session of a JWT from a magic link or an external provider; null if it has ended. */
  async findSession(accessToken: string, clientIp: string): Promise<IdentitySession | null> {
    const reply = await this.#call({ path: '/user', method: 'GET', bearer: accessToken, clientIp })
    return reply.status === 200 ? { accessToken, factors: readFactors(reply.body) } : null
  }

  /** Emails a sign-in link to a user that exists; for all others nothing happens. */
  async sendLink(
    {
      email,
      redirectTo,
      captchaToken,
    }: { email: string; redirectTo: string; captchaToken?: string | undefined },
    clientIp: string,
  ): Promise<void> {
    await this.#call({
      path: `/otp?redirect_to=${encodeURIComponent(redirectTo)}`,
      body: {
        email,
        create_user: false,
        ...(captchaToken === undefined ? {} : { captcha_token: captchaToken }),
      },
      clientIp,
      // Without this API version, apps/auth interprets create_user as it does for older clients.
      headers: { 'x-supabase-api-version': '2024-01-01' },
    })
  }

  /** Starts a challenge of a second factor; a phone factor sends its code. Null when it was refused. */
  async challengeFactor(accessToken: string, factorId: string, clientIp: string): Promise<string | null> {
    const path = `/factors/${encodeURIComponent(factorId)}/challenge`
    const reply = await this.#call({ path, body: {}, bearer: accessToken, clientIp })
    const { id } = reply.body
    return reply.status === 200 && typeof id === 'string' ? id : null
  }

  /** The session after the second factor, or null for a wrong or expired code. */
  async verifyFactor(
    accessToken: string,
    { factorId, challengeId, code }: { factorId: string; challengeId: string; code: string },
    clientIp: string,
  ): Promise<IdentitySession | null> {
    const path = `/factors/${encodeURIComponent(factorId)}/verify`
    const body = { challenge_id: challengeId, code }
    const reply = await this.#call({ path, body, bearer: accessToken, clientIp })
    return reply.status === 200 ? readSession(reply) : null
  }

  /** `GET /settings`: the providers that the server has switched off. */
  async findProvidersOff(): Promise<ReadonlySet<string>> {
    const { status, body } = await this.#call({
      path: '/settings',
      method: 'GET',
      timeoutMs: SETTINGS_TIMEOUT_MS,
    })
    if (status !== 200) throw new IdentityUnavailableError(`the identity server answered ${status}`)
    const states = Object.entries(body['external'] ?? {})
    return new Set(states.filter(([, isOn]) => isOn === false).map(([name]) => name))
  }

  /** Whether this client may ask about users at all. */
  get canAskAboutUsers(): boolean {
    return this.options.serviceToken !== undefined
  }

  /** `GET /admin/users/{id}` with the service credential. */
  async userState(accountId: string): Promise<UserState> {
    const { status, body } = await this.#call({
      path: `/admin/users/${encodeURIComponent(accountId)}`,
      method: 'GET',
      bearer: this.options.serviceToken ?? '',
      timeoutMs: USER_STATE_TIMEOUT_MS,
    })
    // Any other 404 comes from a wrong address or a proxy, and must not sign anybody out.
    if (status === 404 && body['error_code'] === 'user_not_found') return 'gone'
    if (status !== 200) throw new IdentityUnavailableError(`the identity server answered ${status}`)
    if (typeof body['deleted_at'] === 'string') return 'gone'
    const bannedUntil = body['banned_until']
    const banned = typeof bannedUntil === 'string' && new Date(bannedUntil) > this.options.now()
    return banned ? 'banned' : 'active'
  }

  async #call(call: Call): Promise<Reply> {
    const { path, method = 'POST', body, bearer, clientIp, timeoutMs = TIMEOUT_MS } = call
    const { url, clientIpHeader } = this.options
    const headers: Record<string, string> = { accept: 'application/json', ...call.headers }
    if (body) headers['content-type'] = 'application/json'
    if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`
    if (clientIpHeader !== undefined && clientIp !== undefined) headers[clientIpHeader] = clientIp
    const reply = await send(`${url}${path}`, {
      method,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (reply.status === 429) throw new IdentityBusyError(reply.retryAfterSeconds)
    if (reply.status >= 500)
      throw new IdentityUnavailableError(`the identity server answered ${reply.status}`)
    return reply
  }
}

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

/** A refusal may come from a proxy, so it need not be JSON. A success must be. */
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

function readSession({ body }: Reply): IdentitySession {
  const accessToken = body['access_token']
  if (typeof accessToken !== 'string')
    throw new IdentityUnavailableError('the identity server answered without an access token')
  const user = body['user']
  return { accessToken, factors: typeof user === 'object' && user !== null ? readFactors(user) : [] }
}

function readFactors(user: object): Factor[] {
  const { factors } = user as { factors?: unknown }
  if (!Array.isArray(factors)) return []
  return (factors as Record<string, unknown>[]).flatMap(({ id, factor_type, status, friendly_name }) => {
    const usable = status === 'verified' && (factor_type === 'totp' || factor_type === 'phone')
    if (!usable || typeof id !== 'string') return []
    return [{ id, type: factor_type, name: typeof friendly_name === 'string' ? friendly_name : '' }]
  })
}
