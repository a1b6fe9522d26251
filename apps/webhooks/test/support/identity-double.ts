import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { JwtClaims } from '@signet/jwt'
import { listen } from '@signet/http'
import { hs256Token } from '@signet/testkit'
import express, { type Express, type Request, type Response } from 'express'

export const JWT_SECRET = 'a test secret that is longer than 32 bytes'

type Factor = { id: string; type: 'totp' | 'phone'; code: string; name?: string; challengeId?: string }
export type User = {
  id: string
  email: string
  phone: string
  password: string
  banned: boolean
  confirmed: boolean
  deleted: boolean
  factors: Factor[]
}

/** What the double was asked, newest last. */
export type Asked = { method: string; path: string; headers: IncomingMessage['headers']; body: unknown }

/**
 * The identity server as this service sees it, over a real socket: the password grant, users, factors and the
 * admin API. It can be told to be slow, busy or broken.
 */
export async function startIdentityDouble() {
  const users: User[] = []
  const asked: Asked[] = []
  let failure: { status: number; hang?: boolean } | null = null
  let publicJwks: object[] = []
  let captchaToken: string | null = null
  let providerUser: User | null = null
  let external: Record<string, unknown> = { email: true, phone: false, github: true, google: true }

  const claimsOf = (user: User, extra: JwtClaims = {}): JwtClaims => {
    const now = Math.floor(Date.now() / 1000)
    return {
      iss: 'http://identity.test',
      sub: user.id,
      aud: 'authenticated',
      iat: now,
      exp: now + 3600,
      email: user.email,
      phone: user.phone,
      role: 'authenticated',
      aal: 'aal1',
      is_anonymous: false,
      ...extra,
    }
  }
  const jwtFor = (user: User, extra: JwtClaims = {}) => hs256Token(JWT_SECRET, claimsOf(user, extra))
  const view = (user: User) => ({
    id: user.id,
    aud: 'authenticated',
    role: 'authenticated',
    email: user.email,
    phone: user.phone,
    ...(user.factors.length > 0
      ? {
          factors: user.factors.map(({ id, type, name = '' }) => ({
            id,
            factor_type: type,
            status: 'verified',
            friendly_name: name,
          })),
        }
      : {}),
    ...(user.banned ? { banned_until: '2999-01-01T00:00:00Z' } : {}),
    ...(user.deleted ? { deleted_at: '2020-01-01T00:00:00Z' } : {}),
  })
  const tokens = (user: User, extra: JwtClaims = {}) => ({
    access_token: jwtFor(user, extra),
    token_type: 'bearer',
    expires_in: 3600,
    refresh_token: 'identity-refresh-token',
    user: view(user),
  })
  const error = (res: Response, status: number, code: string) =>
    void res.status(status).json({ code: status, error_code: code, msg: code })
  const userOf = (req: Request) => {
    const payload = (req.get('authorization') ?? '').split('.')[1] ?? ''
    const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString() || '{}') as { sub?: string }
    return users.find(({ id }) => id === sub)
  }

  const app: Express = express()
  app.use(express.json())
  app.use((req, res, next) => {
    asked.push({ method: req.method, path: req.url, headers: req.headers, body: req.body })
    if (!failure) return next()
    if (!failure.hang) res.status(failure.status).set('Retry-After', '7').send('broken')
  })
  app.post('/token', (req, res) => {
    const body = req.body as { email?: string; phone?: string; password?: string; captcha_token?: string }
    if (captchaToken !== null && body.captcha_token !== captchaToken) return error(res, 400, 'captcha_failed')
    const user = users.find(({ email, phone }) => (body.email ? email === body.email : phone === body.phone))
    if (!user || user.password !== body.password) return error(res, 400, 'invalid_credentials')
    if (!user.confirmed) return error(res, 400, 'email_not_confirmed')
    if (user.banned) return error(res, 400, 'user_banned')
    res.json(tokens(user))
  })
  app.get('/user', (req, res) => {
    const user = userOf(req)
    if (!user) return error(res, 403, 'session_not_found')
    res.json(view(user))
  })
  app.post('/factors/:id/challenge', (req, res) => {
    const factor = userOf(req)?.factors.find(({ id }) => id === req.params.id)
    if (!factor) return error(res, 404, 'mfa_factor_not_found')
    factor.challengeId = randomUUID()
    res.json({ id: factor.challengeId, type: factor.type, expires_at: Math.floor(Date.now() / 1000) + 300 })
  })
  app.post('/factors/:id/verify', (req, res) => {
    const user = userOf(req)
    const factor = user?.factors.find(({ id }) => id === req.params.id)
    const { challenge_id: challengeId, code } = req.body as { challenge_id?: string; code?: string }
    if (!user || !factor || challengeId !== factor.challengeId || code !== factor.code)
      return error(res, 422, 'mfa_verification_failed')
    delete factor.challengeId
    res.json(tokens(user, { aal: 'aal2' }))
  })
  app.post(['/magiclink', '/otp'], (_req, res) => void res.json({}))
  // The provider is passed over: the browser comes straight back, signed in as the chosen user.
  app.get('/authorize', (req, res) => {
    const { redirect_to: target } = req.query
    if (typeof target !== 'string' || !providerUser) return error(res, 400, 'validation_failed')
    res.redirect(`${target}#${String(new URLSearchParams({ access_token: jwtFor(providerUser) }))}`)
  })
  app.get('/.well-known/jwks.json', (_req, res) => void res.json({ keys: publicJwks }))
  app.get('/settings', (_req, res) => void res.json({ external }))
  app.get('/admin/users/:id', (req, res) => {
    if (req.get('authorization') !== 'Bearer admin-jwt') return error(res, 401, 'no_authorization')
    const user = users.find(({ id }) => id === req.params.id)
    if (!user) return error(res, 404, 'user_not_found')
    res.json(view(user))
  })
  const listener = await listen(app, { port: 0, host: '127.0.0.1' })

  return {
    url: `http://127.0.0.1:${listener.port}`,
    asked,
    jwtFor,
    claimsOf,
    addUser(overrides: Partial<User> = {}): User {
      const user: User = {
        id: randomUUID(),
        email: `${randomUUID()}@example.com`,
        phone: '',
        password: 'correct horse battery staple',
        banned: false,
        confirmed: true,
        deleted: false,
        factors: [],
        ...overrides,
      }
      users.push(user)
      return user
    },
    removeUser(user: User) {
      users.splice(users.indexOf(user), 1)
    },
    /** Answers every request so, or never; null is healthy again. */
    failWith(state: { status: number; hang?: boolean } | null) {
      failure = state
    },
    /** Who signs in at every external provider. */
    signInAtProviders(user: User) {
      providerUser = user
    },
    /** What `/settings` says of the providers. */
    setExternal(states: Record<string, unknown>) {
      external = states
    },
    /** What the double's JWK Set holds. */
    publishKeys(...jwks: object[]) {
      publicJwks = jwks
    },
    requireCaptcha(token: string | null) {
      captchaToken = token
    },
    close: () => listener.close(0),
  }
}
