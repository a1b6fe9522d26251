import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { JwtClaims } from '@signet/jwt'
import { listen } from '@signet/http'
import { hs256Token } from '@signet/testkit'
import { html } from '@signet/pages'
import express, { type Express, type Response } from 'express'

/** The token with which the service makes requests as an administrator. */
export const ADMIN_JWT = 'of.an.administrator'
export const JWT_SECRET = 'a test secret that is longer than 32 bytes'

type Code = { user: User; challenge: string; claims: JwtClaims }
export type User = {
  id: string
  email: string
  phone: string
  password: string
  banned: boolean
  /** Whether the email address is confirmed. */
  confirmed: boolean
  deleted: boolean
  /** The session behind the JWTs. */
  sessionId: string
  /** Whether the session has ended. */
  signedOut: boolean
  /** Whether the user has a second factor, for which the sign-in page asks. */
  secondFactor: boolean
  metadata: Record<string, unknown>
}

/** A request that the double received. They are listed with the newest last. */
export type Asked = { method: string; path: string; headers: IncomingMessage['headers']; body: unknown }

/**
 * The identity server as this service and its browsers see it, over a real socket: a sign-in page, codes for its PKCE
 * clients, and the admin API. It can be told to be slow, busy or broken.
 */
export async function startIdentityDouble() {
  const users: User[] = []
  const asked: Asked[] = []
  let failure: { status: number; hang?: boolean } | null = null
  let publicJwks: object[] = []
  const codes = new Map<string, Code>()

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
      session_id: user.sessionId,
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
    user_metadata: user.metadata,
    ...(user.secondFactor ? { factors: [{ id: 'f', factor_type: 'totp', status: 'verified' }] } : {}),
    ...(user.confirmed ? { email_confirmed_at: '2020-01-01T00:00:00Z' } : {}),
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
  const codeFor = (user: User, challenge: string, claims: JwtClaims = {}): string => {
    const code = randomUUID()
    codes.set(code, { user, challenge, claims })
    return code
  }
  /** Where the sign-in page sends the browser after a sign-in. */
  const answerTo = (signInUrl: string, user: User, claims: JwtClaims = {}): string => {
    const { searchParams } = new URL(signInUrl)
    const target = new URL(searchParams.get('redirect_to') ?? '')
    target.searchParams.set('code', codeFor(user, searchParams.get('code_challenge') ?? '', claims))
    return target.href
  }

  const app: Express = express()
  app.use(express.json())
  app.use((req, res, next) => {
    asked.push({ method: req.method, path: req.url, headers: req.headers, body: req.body })
    if (!failure) return next()
    if (!failure.hang) res.status(failure.status).set('Retry-After', '7').send('broken')
  })
  app.get('/ui', (req, res) => void res.send(signInPage(req.url)))
  app.get('/ui/sign-out', (req, res) => res.redirect(303, req.query['redirect_to'] as string))
  app.post('/ui/sign-in', express.urlencoded({ extended: false }), (req, res) => {
    const { identifier, password, came_by: cameBy } = req.body as Record<string, string>
    const user = users.find(({ email, phone }) => identifier === (email || phone))
    if (user?.password !== password || !user || user.banned)
      return void res.status(400).send(signInPage(cameBy ?? ''))
    const claims: JwtClaims = user.secondFactor ? { aal: 'aal2' } : {}
    res.redirect(303, answerTo(new URL(cameBy ?? '', 'http://localhost').href, user, claims))
  })
  app.post('/token', (req, res) => {
    const { auth_code: code = '', code_verifier: verifier = '' } = req.body as Record<string, string>
    const found = req.query['grant_type'] === 'pkce' ? codes.get(code) : undefined
    if (!found) return error(res, 404, 'flow_state_not_found')
    codes.delete(code)
    if (createHash('sha256').update(verifier).digest('base64url') !== found.challenge)
      return error(res, 400, 'bad_code_verifier')
    if (found.user.banned) return error(res, 400, 'user_banned')
    res.json(tokens(found.user, found.claims))
  })
  // It checks no signature, because the caller has already done so.
  app.get('/user', (req, res) => {
    const [, payload = ''] = (req.get('authorization') ?? '').split('.')
    const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JwtClaims
    const user = users.find(({ id }) => id === sub)
    if (!user || user.deleted) return error(res, 403, 'user_not_found')
    if (user.banned) return error(res, 403, 'user_banned')
    const isVersioned = req.get('x-supabase-api-version') !== undefined
    if (user.signedOut && isVersioned) return error(res, 403, 'session_not_found')
    res.json(view(user))
  })
  app.get('/.well-known/jwks.json', (_req, res) => void res.json({ keys: publicJwks }))
  app.get('/admin/users/:id', (req, res) => {
    if (req.get('authorization') !== `Bearer ${ADMIN_JWT}`) return error(res, 401, 'no_authorization')
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
        sessionId: randomUUID(),
        signedOut: false,
        secondFactor: false,
        metadata: {},
        ...overrides,
      }
      users.push(user)
      return user
    },
    removeUser(user: User) {
      users.splice(users.indexOf(user), 1)
    },
    /** Answers every request with this status, or never; null makes the double healthy again. */
    failWith(state: { status: number; hang?: boolean } | null) {
      failure = state
    },
    answerTo,
    /** Sets the keys of the double's JWK Set. */
    publishKeys(...jwks: object[]) {
      publicJwks = jwks
    },
    close: () => listener.close(0),
  }
}

const signInPage = (cameBy: string): string =>
  html`<!doctype html>
    <html lang="en">
      <title>Sign in</title>
      <h1>Sign in</h1>
      <form method="post" action="/ui/sign-in">
        <input type="hidden" name="came_by" value="${cameBy}" />
        <label>Address <input id="identifier" name="identifier" /></label>
        <label>Password <input id="password" name="password" type="password" /></label>
        <button>Sign in</button>
      </form>
    </html>`.text
