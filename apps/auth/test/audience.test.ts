import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { authRoutes } from '../src/app.js'
import {
  anEmail,
  aPhone,
  aUser,
  call,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  UUID,
} from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf, serviceToken, tokenOf } from './support/tokens.js'

const AUDIENCES = ['authenticated', 'partners', 'staff']
const inAudience = (aud: string) => ({ headers: { 'X-JWT-AUD': aud } })

describe('an audience', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_JWT_ALLOWED_AUDIENCES: 'partners,staff',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_AUTOCONFIRM: 'true',
      AUTH_RATE_LIMIT_OTP: '100000',
      AUTH_RATE_LIMIT_VERIFY: '100000',
    })
  })
  afterAll(() => server.close())

  it('that is not on the list is refused by every route, and the refusal names the header', async () => {
    for (const { method, path } of authRoutes(server.context)) {
      const answer = await call(
        server,
        method.toUpperCase(),
        path.replace(/:\w+/g, UUID),
        inAudience('elsewhere'),
      )
      // Routes that a browser opens answer with a page.
      if (answer.headers.get('content-type')?.startsWith('text/html')) expect(answer.status).toBe(400)
      else expectError(answer, 400, 'validation_failed', /X-JWT-AUD/)
    }
  })

  it('on the list becomes the audience of a user who signs up with it, permanently', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD }, inAudience('partners'))
    const { token } = await mailTo(server, email)
    expect((await post(server, '/verify', { type: 'signup', token })).status).toBe(200)
    for (const aud of AUDIENCES) {
      const signIn = await post(
        server,
        '/token?grant_type=password',
        { email, password: PASSWORD },
        inAudience(aud),
      )
      expect(signIn.status).toBe(200)
      expect(claimsOf(signIn.body['access_token']).aud).toBe('partners')
    }
  })

  it('of a token must be on the list, for users and administrators', async () => {
    const { user } = await aUser(server)
    const claims = { sub: user.id, role: 'authenticated' }
    expect((await get(server, '/user', { token: tokenOf({ ...claims, aud: 'staff' }) })).status).toBe(200)
    for (const token of [tokenOf({ ...claims, aud: 'elsewhere' }), tokenOf(claims)])
      expectError(await get(server, '/user', { token }), 403, 'bad_jwt')
    const refused = [
      ...['elsewhere', '', ['elsewhere', 'nowhere']].map((aud) => serviceToken({ aud })),
      // Only a token without a user needs no audience.
      tokenOf({ ...claims, role: 'service_role' }),
    ]
    for (const token of refused)
      expectError(await get(server, '/admin/users', { token }), 403, 'bad_jwt', /audience|aud claim/)
    expect((await get(server, '/admin/users', { token: serviceToken({ aud: 'staff' }) })).status).toBe(200)
    expect((await get(server, '/admin/users', { token: serviceToken() })).status).toBe(200)
  })

  it('that an administrator sets must be on the list too', async () => {
    const create = (aud: string) =>
      post(server, '/admin/users', { email: anEmail(), aud }, { token: serviceToken() })
    expectError(await create('elsewhere'), 400, 'validation_failed')
    expect((await create('staff')).body['aud']).toBe('staff')
  })

  it('counts the users who have it now', async () => {
    const email = anEmail()
    const counted = async () => {
      const counts: Record<string, number> = {}
      for (const aud of AUDIENCES) {
        const { headers } = await get(server, '/admin/users', { token: serviceToken(), ...inAudience(aud) })
        counts[aud] = Number(headers.get('x-total-count'))
      }
      return counts
    }
    const before = await counted()
    await post(server, '/signup', { email, password: PASSWORD }, inAudience('partners'))
    await mailTo(server, email)
    const again = await post(server, '/invite', { email }, { token: serviceToken(), ...inAudience('staff') })
    expect(again.body['aud']).toBe('staff')
    const after = await counted()
    expect(after).toEqual({ ...before, staff: (before['staff'] ?? 0) + 1 })
    await call(server, 'DELETE', `/admin/users/${String(again.body['id'])}`, { token: serviceToken() })
    expect(await counted()).toEqual(before)
  })

  it('creates no second account for an address or number, even in parallel sign-ups', async () => {
    for (const address of [{ email: anEmail() }, { phone: aPhone() }]) {
      await Promise.all(
        [...AUDIENCES, ...AUDIENCES].map((aud) =>
          post(server, '/signup', { ...address, password: PASSWORD }, inAudience(aud)),
        ),
      )
      const { rows } = await server.context.db.query('select id from users where email = $1 or phone = $2', [
        address.email ?? null,
        address.phone ?? null,
      ])
      expect(rows).toHaveLength(1)
    }
  })

  it('does not allow a second email within the interval', async () => {
    const { email } = await aUser(server)
    for (const [path, body] of [
      ['/recover', { email }],
      ['/otp', { email: anEmail() }],
      ['/resend', { email: anEmail(), type: 'signup' }],
      ['/recover', { email: anEmail() }],
    ] as const) {
      const statuses: number[] = []
      for (const aud of AUDIENCES) statuses.push((await post(server, path, body, inAudience(aud))).status)
      expect(statuses).toEqual([200, 429, 429])
    }
  })
})
