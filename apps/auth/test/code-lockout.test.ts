import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, expectError, mailTo, PASSWORD, post, put, type Json } from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { startSmsGateway, type SmsGateway } from './support/sms-gateway.js'

let gateway: SmsGateway
let server: TestServer
beforeAll(async () => {
  gateway = await startSmsGateway()
  server = await startServer(
    {
      ...NO_EMAIL_GAPS,
      AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
      AUTH_SMS_MAX_FREQUENCY: '0',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      // Addresses come from a header, so that one test can be many clients.
      AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true',
      ...gateway.env,
    },
    { smsUrls: gateway.urls },
  )
})
afterAll(async () => {
  await server.close()
  await gateway.close()
})

const HOME = '192.0.2.1'
const AWAY = '192.0.2.77'
const STRANGER = '198.51.100.9'
/** A new client for each use, because each may send thirty requests at once. */
let networks = 0
const aNetwork = () => `11.${(networks += 1)}.99.1`
const from = (address: string) => ({ versioned: true, headers: { 'X-Forwarded-For': address } })
const verify = (body: Json, address: string) => post(server, '/verify', body, from(address))

const CHANNELS = {
  phone: {
    type: 'sms',
    anAddress: () => ({ phone: aPhone() }),
    codeTo: ({ phone }: Json) => Promise.resolve(gateway.codeFor(String(phone))),
  },
  email: {
    type: 'email',
    anAddress: () => ({ email: anEmail() }),
    codeTo: async ({ email }: Json) => {
      const [last] = server.inbox.messages({ to: String(email) }).slice(-2, -1)
      return (await mailTo(server, String(email), last)).code
    },
  },
} as const

describe.each(['phone', 'email'] as const)('codes to %s', (kind) => {
  const { type, anAddress, codeTo } = CHANNELS[kind]
  /** Someone who has signed in at home. */
  const anOwner = async () => {
    const address = anAddress()
    await post(server, '/signup', { ...address, password: PASSWORD }, from(HOME))
    const proof = { type, ...address, token: await codeTo(address) }
    expect((await verify(proof, HOME)).status).toBe(200)
    return address
  }
  const guess = async (address: Json, network: string, times: number) => {
    for (let n = 0; n < times; n += 1)
      expectError(await verify({ type, ...address, token: `${n}`.repeat(7) }, network), 403, 'otp_expired')
  }
  const ask = async (address: Json) => {
    await post(server, '/otp', address, from(HOME))
    return { type, ...address, token: await codeTo(address) }
  }

  it('work at a known network, no matter how many codes a stranger has tried', async () => {
    const address = await anOwner()
    await guess(address, STRANGER, 12)
    const proof = await ask(address)
    expectError(await verify(proof, AWAY), 403, 'otp_expired')
    expect((await verify(proof, HOME)).status).toBe(200)
  })

  it('allow ten guesses at a known network, and no more', async () => {
    const address = await anOwner()
    const proof = await ask(address)
    await guess(address, HOME, 10)
    expectError(await verify(proof, HOME), 403, 'otp_expired')
    expect((await verify(proof, AWAY)).status).toBe(200)
  })

  it('share one count among all strangers', async () => {
    const address = await anOwner()
    const proof = await ask(address)
    for (let n = 0; n < 10; n += 1) await guess(address, `203.0.113.${n}`, 1)
    expectError(await verify(proof, AWAY), 403, 'otp_expired')
  })

  describe('for someone who has never signed in', () => {
    const signUp = async (home: string) => {
      const address = anAddress()
      await post(server, '/signup', { ...address, password: PASSWORD }, from(home))
      return { address, proof: { type, ...address, token: await codeTo(address) } }
    }
    const askAgain = async (address: Json, home: string) => {
      await post(server, '/otp', address, from(home))
      return { type, ...address, token: await codeTo(address) }
    }

    it('work where they were requested and nowhere else, no matter how many codes a stranger has tried', async () => {
      const home = aNetwork()
      const { address, proof } = await signUp(home)
      await guess(address, aNetwork(), 12)
      expectError(await verify(proof, aNetwork()), 403, 'otp_expired')
      expect((await verify(proof, home)).status).toBe(200)
    })

    it('allow three guesses there, also in parallel, and no more after another request', async () => {
      const home = aNetwork()
      const { address } = await signUp(home)
      await guess(address, aNetwork(), 10)
      await Promise.all([guess(address, home, 1), guess(address, home, 1), guess(address, home, 1)])
      expectError(await verify(await askAgain(address, home), home), 403, 'otp_expired')
    })

    it('allow ten guesses in total if nobody else tries', async () => {
      const home = aNetwork()
      const { address, proof } = await signUp(home)
      await guess(address, home, 10)
      expectError(await verify(proof, home), 403, 'otp_expired')
    })

    it('of other networks do not work there once strangers have used up their guesses', async () => {
      const [home, stranger] = [aNetwork(), aNetwork()]
      const { address, proof } = await signUp(home)
      const own = await askAgain(address, stranger)
      await guess(address, aNetwork(), 10)
      expectError(await verify(proof, stranger), 403, 'otp_expired')
      expect((await verify(own, stranger)).status).toBe(200)
    })

    it('give ten networks guesses of their own, whatever they ask for', async () => {
      const { address } = await signUp(aNetwork())
      const requests = [
        (network: string) => post(server, '/otp', address, from(network)),
        (network: string) => post(server, '/signup', { ...address, password: PASSWORD }, from(network)),
        (network: string) =>
          post(server, '/resend', { ...address, type: kind === 'email' ? 'signup' : 'sms' }, from(network)),
      ]
      const proofs: { network: string; proof: Json }[] = []
      for (let n = 0; n < 10; n += 1) {
        const network = aNetwork()
        expect((await requests[n % 3]?.(network))?.status).toBe(200)
        proofs.push({ network, proof: { type, ...address, token: await codeTo(address) } })
      }
      await guess(address, aNetwork(), 10)
      const [last, first] = [proofs.at(-1), proofs.at(-2)]
      expectError(await verify(last?.proof ?? {}, last?.network ?? ''), 403, 'otp_expired')
      expect((await verify(first?.proof ?? {}, first?.network ?? '')).status).toBe(200)
    })

    it.each([
      ['a line of IPv6', (n: number) => `2001:db8:7:${n + 1}::1`],
      ['a network of IPv4', (n: number) => `198.51.100.${n + 1}`],
      ['a provider', (n: number) => `198.52.${n}.1`],
    ])('leave guesses to others, however many addresses of %s request codes', async (_name, address) => {
      const { address: wanted } = await signUp(address(0))
      for (let n = 1; n < 12; n += 1) await post(server, '/otp', wanted, from(address(n)))
      const home = aNetwork()
      const proof = await askAgain(wanted, home)
      await guess(wanted, address(20), 10)
      expect((await verify(proof, home)).status).toBe(200)
    })

    it('allow new guesses after the window', async () => {
      const home = aNetwork()
      const { address } = await signUp(home)
      await guess(address, home, 11)
      server.clock.advance(3_600_000)
      expect((await verify(await askAgain(address, home), home)).status).toBe(200)
    })
  })
})

describe('the codes of a change', () => {
  it.each(['new', 'current'])(
    'work where the change was requested, for the %s address too, no matter what a stranger has tried',
    async (which) => {
      const home = aNetwork()
      const user = await aUser(server)
      const email = anEmail()
      const asked = { token: user.access_token, ...from(home) }
      const last = server.inbox.messages({ to: user.email }).at(-1)
      await put(server, '/user', { email }, asked)
      const to = which === 'new' ? email : user.email
      const { code } = await mailTo(server, to, which === 'new' ? undefined : last)
      const network = aNetwork()
      for (let n = 0; n < 12; n += 1)
        await verify({ type: 'email_change', email: to, token: `${n}`.repeat(7) }, network)
      expect((await verify({ type: 'email_change', email: to, token: code }, home)).status).toBe(200)
    },
  )

  it('work where they were requested again', async () => {
    const home = aNetwork()
    const user = await aUser(server)
    const phone = aPhone()
    await put(server, '/user', { phone }, { token: user.access_token, ...from(aNetwork()) })
    const request = { type: 'phone_change', email: user.email }
    expect((await post(server, '/resend', request, from(home))).status).toBe(200)
    await server.settled()
    const network = aNetwork()
    for (let n = 0; n < 12; n += 1)
      await verify({ type: 'phone_change', phone, token: `${n}`.repeat(7) }, network)
    const proof = { type: 'phone_change', phone, token: gateway.codeFor(phone) }
    expect((await verify(proof, home)).status).toBe(200)
  })
})
