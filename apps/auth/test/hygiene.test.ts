import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aPhone, anEmail, aUser, expectError, get, PASSWORD, post, put } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

const MINUTE = 60_000

describe('the interval between two emails of one kind to one person', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_RATE_LIMIT_OTP: '100000',
      AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY: '30s',
      AUTH_MAILER_REAUTHENTICATION_MAX_FREQUENCY: '20s',
    })
  })
  afterAll(() => server.close())

  /** Asks again just before the gap is over, and once more when it is over. */
  async function expectGap(gapMs: number, ask: () => Promise<{ status: number }>) {
    expect((await ask()).status).toBe(200)
    server.clock.advance(gapMs - 1)
    expect((await ask()).status).toBe(429)
    server.clock.advance(1)
    expect((await ask()).status).toBe(200)
  }

  it('is 15 minutes for confirmations and recoveries', async () => {
    const { email } = await aUser(server)
    await expectGap(15 * MINUTE, () => post(server, '/recover', { email }))
    const fresh = anEmail()
    await expectGap(15 * MINUTE, () => post(server, '/signup', { email: fresh, password: PASSWORD }))
  })

  it.each([
    ['a user', async () => (await aUser(server)).email],
    ['somebody new, who gets a confirmation', () => Promise.resolve(anEmail())],
    [
      'somebody who signed up and has not confirmed',
      async () => {
        const email = anEmail()
        await post(server, '/signup', { email, password: PASSWORD })
        server.clock.advance(MINUTE)
        return email
      },
    ],
  ])('is a minute for magic links to %s', async (_, somebody) => {
    const email = await somebody()
    await expectGap(MINUTE, () => post(server, '/magiclink', { email }))
  })

  it('has separate settings for email changes and for nonces', async () => {
    const user = await aUser(server)
    const token = { token: user.access_token }
    await expectGap(30_000, () => put(server, '/user', { email: anEmail() }, token))
    await expectGap(20_000, () => get(server, '/reauthenticate', token))
  })
})

describe('invalid input', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
  })
  afterAll(() => server.close())

  it('includes phone numbers while phone is off: the change is refused, and nothing is sent', async () => {
    const user = await aUser(server)
    const answer = await put(server, '/user', { phone: aPhone() }, { token: user.access_token })
    expectError(answer, 400, 'phone_provider_disabled')
    const { rows } = await server.context.db.query('select 1 from users where phone_change is not null')
    expect(rows).toEqual([])
  })

  it.each(['application/json', 'application/x-www-form-urlencoded'])(
    'includes bytes that are not UTF-8 in a body of %s',
    async (type) => {
      const body = Buffer.concat([
        Buffer.from('{"email":"a@example.com","password":"pass'),
        Buffer.from([0xc3, 0x28, 0xff]),
        Buffer.from('word"}'),
      ])
      const { port } = new URL(server.url)
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(
        `POST /token?grant_type=password HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`,
      )
      socket.write(body)
      const answer = await text(socket)
      expect(answer).toMatch(/^HTTP\/1.1 400 [^]*bad_json/)
    },
  )

  it.each(['utf-16', 'UTF-16LE', '"utf-32"'])('includes bodies in %s', async (charset) => {
    const answer = await fetch(`${server.url}/otp`, {
      method: 'POST',
      headers: { 'content-type': `application/json; charset=${charset}` },
      body: Buffer.from(JSON.stringify({ email: 'a@example.com' }), 'utf16le'),
    })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('not supported')])
  })

  it('includes percent-encoded bytes that are not UTF-8, in a form and in every query', async () => {
    const send = async (path: string, body?: string) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await fetch(`${server.url}${path}`, {
        redirect: 'manual',
        ...(body === undefined ? {} : { method: 'POST', headers, body }),
      })
      return [answer.status, await answer.text()]
    }
    const form = await send('/token?grant_type=password', 'email=a%40example.com&password=pass%ffword')
    expect(form).toEqual([400, expect.stringMatching(/bad_json.*not valid UTF-8/)])
    for (const path of ['/verify?type=signup&token=%ff', '/authorize?provider=%C3%28', '/health?x=%ff'])
      expect(await send(path)).toEqual([400, expect.stringContaining('percent-encoded UTF-8')])
    expect(await send('/signup?redirect_to=%ff', '{}')).toEqual([
      400,
      expect.stringMatching(/validation_failed.*percent-encoded UTF-8/),
    ])
  })
})
