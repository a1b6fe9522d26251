import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { authRoutes } from '../src/app.js'
import { addsWayIn, gateOf } from '../src/bearer/gates.js'
import { startServer, type TestServer } from './support/server.js'

/** Everything that a bearer may do without passing the gate for changes. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  // Changes nothing, and also accepts the token of a session that was signed out.
  'get /user': 'read',
  // A session that is over may be signed out again. That ends no other session.
  'post /logout': 'sign_out',
}

describe('the routes that require a bearer token', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())
  const routes = () =>
    authRoutes(server.context).map((route) => ({
      name: `${route.method} ${route.path}`,
      security: route.docs.security?.[0],
      gate: gateOf(route),
      addsWayIn: addsWayIn(route),
      authenticates: route.authenticate !== undefined,
      authenticatesAgain:
        route.authenticateAgain !== undefined && route.authenticateAgain === route.authenticate,
      hasBody: route.body !== undefined,
    }))

  it('each declare a gate: for changes or for administrators', () => {
    const secured = routes().filter(({ security }) => security !== undefined)
    expect(secured.length).toBeGreaterThanOrEqual(20)
    for (const { name, security, gate } of secured) {
      const expected =
        security === 'admin' ? ['admin'] : [EXCEPTIONS[name] ?? ['change', 'change_strongly']].flat()
      expect([name, gate]).toEqual([name, expected.includes(gate ?? '') ? gate : expected.join(' or ')])
    }
  })

  it('require a second factor for sign-in methods, and there are no others', () => {
    const all = routes()
    const named = (gate: string) => all.filter((route) => route.gate === gate).map(({ name }) => name)
    expect(named('change_strongly')).toEqual([
      'get /user/identities/authorize',
      'delete /user/identities/:identity_id',
      'post /passkeys/registration/options',
      'post /passkeys/registration/verify',
      'patch /passkeys/:passkey_id',
      'delete /passkeys/:passkey_id',
    ])
    expect(all.filter(({ authenticates, gate }) => authenticates && gate === undefined)).toEqual([])
    expect(all.filter(({ security, gate }) => (security === undefined) !== (gate === undefined))).toEqual([])
  })

  it('ask the gate of administrators again once the body is there', () => {
    const late = routes().filter(({ gate, hasBody }) => gate === 'admin' && hasBody)
    expect(late.length).toBeGreaterThanOrEqual(7)
    expect(late.filter(({ authenticatesAgain }) => !authenticatesAgain)).toEqual([])
  })

  it('require a recent proof where they add a way to sign in', () => {
    expect(
      routes()
        .filter((route) => route.addsWayIn)
        .map(({ name }) => name),
    ).toEqual([
      'get /user/identities/authorize',
      'post /factors/recovery-codes',
      'post /factors/recovery-codes/regenerate',
      'post /factors',
      'post /recovery-codes',
      'post /passkeys/registration/options',
      'post /passkeys/registration/verify',
    ])
  })
})
