import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, get, mailTo, PASSWORD, post, put, type Json } from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

type Kind = { type: string; to: string; send: () => Promise<unknown> }
type Secrets = { email: string; token: string; code: string }

describe('one-time secrets', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ ...NO_EMAIL_GAPS, AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0' })
  })
  afterAll(() => server.close())

  const latest = async (email: string): Promise<Secrets> => {
    const after = server.inbox.messages({ to: email }).at(-2)
    const { token = '', code = '' } = await mailTo(server, email, after)
    return { email, token, code }
  }
  /** Who asks, and how the same person asks again. */
  const KINDS: Record<string, () => Kind | Promise<Kind>> = {
    signup() {
      const to = anEmail()
      return { type: 'signup', to, send: () => post(server, '/signup', { email: to, password: PASSWORD }) }
    },
    invite() {
      const to = anEmail()
      return {
        type: 'invite',
        to,
        send: () => post(server, '/invite', { email: to }, { token: serviceToken() }),
      }
    },
    async magiclink() {
      const { email: to } = await aUser(server)
      return { type: 'magiclink', to, send: () => post(server, '/magiclink', { email: to }) }
    },
    async recovery() {
      const { email: to } = await aUser(server)
      return { type: 'recovery', to, send: () => post(server, '/recover', { email: to }) }
    },
    async email_change() {
      const { access_token: token } = await aUser(server)
      const to = anEmail()
      return { type: 'email_change', to, send: () => put(server, '/user', { email: to }, { token }) }
    },
  }
  const byLink = (type: string, { token }: Secrets) => post(server, '/verify', { type, token_hash: token })
  const byCode = (type: string, { email, code }: Secrets) =>
    post(server, '/verify', { type, email, token: code })

  const beginKind = async (name: string) => {
    const kind = await KINDS[name]?.()
    if (kind === undefined) throw new Error('no such kind')
    await kind.send()
    return kind
  }

  // Several people may sign up with one address, so each sign-up has its own link.
  it.each(Object.keys(KINDS).filter((name) => name !== 'signup'))(
    'that of %s dies when a newer one is sent',
    async (name) => {
      const { type, to, send } = await beginKind(name)
      const older = await latest(to)
      await send()
      const newer = await latest(to)
      expect(newer.token).not.toBe(older.token)
      expectError(await byLink(type, older), 403, 'otp_expired')
      if (older.code !== newer.code) expectError(await byCode(type, older), 403, 'otp_expired')
      expect((await byLink(type, newer)).status).toBe(200)
    },
  )

  describe.each(Object.keys(KINDS))('%s', (name) => {
    const begin = () => beginKind(name)

    it.each([
      ['link', byLink],
      ['code', byCode],
    ] as const)('works once by %s, and takes the other one with it', async (_, verify) => {
      const { type, to } = await begin()
      const secrets = await latest(to)
      expect((await verify(type, secrets)).status).toBe(200)
      expectError(await byLink(type, secrets), 403, 'otp_expired')
      expectError(await byCode(type, secrets), 403, 'otp_expired')
    })

    it('accepts one of many parallel uses of a code', async () => {
      const { type, to } = await begin()
      const secrets = await latest(to)
      const answers = await Promise.all(Array.from({ length: 6 }, () => byCode(type, secrets)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    })

    it('works for no other purpose and no other user', async () => {
      const { type, to } = await begin()
      const secrets = await latest(to)
      // Sign-up and invitation share a slot, and so do recovery and magic link.
      const foreign = ['signup', 'recovery', 'email_change'].filter(
        (other) => !SAME_SLOT.some((slot) => slot.includes(other) && slot.includes(type)),
      )
      for (const other of foreign) {
        expectError(await byLink(other, secrets), 403, 'otp_expired')
        expectError(await byCode(other, secrets), 403, 'otp_expired')
      }
      const { email } = await aUser(server)
      await post(server, '/recover', { email })
      expectError(await byCode('recovery', { ...secrets, email }), 403, 'otp_expired')
      expect((await byLink(type, secrets)).status).toBe(200)
    })
  })

  it('is not spent by a refused sign-in', async () => {
    const kind = await KINDS['recovery']?.()
    await kind?.send()
    const secrets = await latest(kind?.to ?? '')
    const { headers } = await get(server, `/verify?type=nonsense&token=${secrets.token}`)
    expect(headers.get('location')).toContain('error_code=validation_failed')
    const body: Json = { type: 'recovery', token_hash: secrets.token, email: secrets.email }
    expectError(await post(server, '/verify', body), 400, 'validation_failed')
    expect((await byLink('recovery', secrets)).status).toBe(200)
  })
})

const SAME_SLOT = [['signup', 'invite'], ['recovery', 'magiclink'], ['email_change']]
