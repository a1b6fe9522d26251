import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  expectOtherTimes,
  expectSameTimes,
  MEASURING_MS,
  ROUNDS,
  STATES,
  type Measurement,
  type State,
} from './support/answer-times.js'
import { anEmail, aPhone, PASSWORD, post, type Json } from './support/api.js'
import { RecordedWork } from './support/recorded-work.js'
import { startServer, type TestServer } from './support/server.js'
import { startSmsServer, type SmsGateway } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'
import { createPasswordHasher } from '../src/passwords/password-hasher.js'

/** Servers with these settings use the cheapest hashes, because the cost of real ones would hide all other differences. */
const SETTINGS = {
  AUTH_SMTP_MAX_FREQUENCY: '0',
  AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
  AUTH_SMS_MAX_FREQUENCY: '0',
  AUTH_RATE_LIMIT_OTP: '1000000',
}
const SIGN_IN = '/token?grant_type=password'
type Request = [path: string, body: Json, status: number]
type Kind = 'email' | 'phone'

let passwordHash: string
beforeAll(async () => {
  const hasher = createPasswordHasher({ cost: 4, threads: 1 })
  passwordHash = await hasher.hash(PASSWORD)
  await hasher.close()
})

/** Creates new addresses in a state with one statement. Creating them with requests would take half as long as the measurement. */
const addressesOf = (server: () => TestServer, kind: Kind) => async (state: State) => {
  const addresses = Array.from({ length: ROUNDS }, kind === 'email' ? anEmail : aPhone)
  if (state === 'unknown') return addresses
  const now = server().clock.now()
  const isProved = state === 'proved'
  await server().context.db.query(
    `with people as (
       insert into users (id, aud, role, ${kind}, ${kind}_confirmed_at, encrypted_password, created_at, updated_at)
       select gen_random_uuid(), 'authenticated', 'authenticated', address, $2, $3, $4, $4 from unnest($1::text[]) address
       returning id, ${kind} as address
     )
     insert into identities (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
     select gen_random_uuid(), id, '${kind}', id, json_build_object('sub', id, '${kind}', address), $4, $4 from people`,
    [addresses, isProved ? now : null, isProved ? passwordHash : null, now],
  )
  return addresses
}

/** The statements, transactions and hashes of a request about an address of each state. */
async function workOf(server: TestServer, work: RecordedWork, kind: Kind, [path, body, status]: Request) {
  const seen: string[][] = []
  for (const state of STATES) {
    const address = kind === 'email' ? anEmail() : aPhone()
    if (state !== 'unknown') {
      const isProved = state === 'proved'
      const account = {
        [kind]: address,
        [`${kind}_confirm`]: isProved,
        ...(isProved && { password: PASSWORD }),
      }
      const token = serviceToken()
      expect((await post(server, '/admin/users', account, { token, settle: false })).status).toBe(200)
    }
    expect((await post(server, path, { ...body, [kind]: address })).status).toBe(status)
    seen.push(work.latest())
  }
  return seen
}

/** The only statement that has no stand-in for unknown addresses: it locks a row that was just read, too briefly to be told from noise. */
const LOCK_OF_ACCOUNT = 'users_try_lock'

async function expectSameWork(server: TestServer, work: RecordedWork, kind: Kind, request: Request) {
  const [unknown = [], ...known] = await workOf(server, work, kind, request)
  expect(unknown.length).toBeGreaterThan(0)
  const more = request[0] === '/signup' ? [LOCK_OF_ACCOUNT] : []
  for (const steps of known) expect(steps).toEqual([...unknown, ...more].sort())
}

/** The same measurement of a server whose answer waits for the message. */
const waitingFor = (measurement: Measurement): Measurement => ({
  ...measurement,
  async ask(address) {
    const answer = await measurement.ask(address)
    await measurement.server.settled()
    return answer
  },
})

describe('what strangers learn about an email address from time', () => {
  const work = new RecordedWork()
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(SETTINGS, { tracing: work })
  })
  afterEach(() => server.inbox.fail(null))
  afterAll(() => server.close())

  const requests: Request[] = [
    ['/signup', { password: PASSWORD }, 200],
    ['/recover', {}, 200],
    ['/magiclink', {}, 200],
    ['/otp', {}, 200],
    ['/resend', { type: 'signup' }, 200],
    [SIGN_IN, { password: 'wrong password' }, 400],
  ]
  const measurementOf = ([path, body, status]: Request) => ({
    server,
    addresses: addressesOf(() => server, 'email'),
    ask: (email: string) => post(server, path, { ...body, email }, { settle: false }),
    status,
    settle: true,
  })

  it.each(requests)('%s does the same work for every address', (...request) =>
    expectSameWork(server, work, 'email', request),
  )

  it(
    'is found out if the answer waits for the email',
    () => expectOtherTimes(waitingFor(measurementOf(['/recover', {}, 200]))),
    MEASURING_MS,
  )

  describe.each([
    ['is fast', null, requests],
    ['takes 1.5 s for each email', { at: 'slow', ms: 1500 }, requests],
    ['is down', { at: 'recipient', code: 421 }, requests],
    ['hangs', { at: 'hang' }, requests.slice(0, 2)],
  ] as const)('while the mail server %s', (_, fault, affected) => {
    it.each(affected)(
      '%s takes the same for every address',
      async (...request) => {
        server.inbox.fail(fault)
        await expectSameTimes({ ...measurementOf(request), settle: fault === null })
      },
      MEASURING_MS,
    )
  })
})

describe('what strangers learn about a phone number from time', () => {
  const work = new RecordedWork()
  let server: TestServer
  let gateway: SmsGateway
  beforeAll(async () => {
    ;({ server, gateway } = await startSmsServer(SETTINGS, (env, ports) =>
      startServer(env, { ...ports, tracing: work }),
    ))
  })
  afterEach(() => gateway.refuse(false))
  afterAll(() => server.close())

  const requests: Request[] = [
    ['/signup', { password: PASSWORD }, 200],
    ['/otp', {}, 200],
    ['/resend', { type: 'sms' }, 200],
    [SIGN_IN, { password: 'wrong password' }, 400],
  ]
  const measurementOf = ([path, body, status]: Request) => ({
    server,
    addresses: addressesOf(() => server, 'phone'),
    ask: (phone: string) => post(server, path, { ...body, phone }, { settle: false }),
    status,
    settle: true,
  })

  it.each(requests)('%s does the same work for every number', (...request) =>
    expectSameWork(server, work, 'phone', request),
  )

  it(
    'is found out if the answer waits for the gateway',
    // Without a version, this sends nothing to a number that has no account (docs/specification.md#versions).
    () => expectOtherTimes(waitingFor(measurementOf(['/otp', { create_user: true }, 200]))),
    MEASURING_MS,
  )

  describe.each([
    ['is fast', false],
    ['takes 1.5 s for each message', 'slowly'],
    ['is down', 'down'],
  ] as const)('while the SMS gateway %s', (_, fault) => {
    it.each(requests)(
      '%s takes the same for every number',
      async (...request) => {
        gateway.refuse(fault)
        await expectSameTimes({ ...measurementOf(request), settle: fault === false })
      },
      MEASURING_MS,
    )
  })
})
