import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Tx } from '@signet/db'
import { anEmail, aPhone, aUser, get, mailTo, post, put, type Json } from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { startSmsServer, type SmsGateway } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'

const ADMIN = { token: serviceToken(), versioned: true }
const ENV = {
  ...NO_EMAIL_GAPS,
  AUTH_RATE_LIMIT_HEADER: 'X-Client',
  AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '20',
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
}

let server: TestServer
let gateway: SmsGateway
beforeAll(async () => {
  ;({ server, gateway } = await startSmsServer(ENV))
})
afterAll(() => server.close())

let clients = 0
const aClient = () => ({ headers: { 'X-Client': `client-${(clients += 1)}` } })
const verify = (body: Json, from = aClient()) => post(server, '/verify', body, from)
const lastTo = (email: string) => server.inbox.messages({ to: email }).at(-1)
const accountOf = async (id: string) => (await get(server, `/admin/users/${id}`, ADMIN)).body

async function beginChange(user: { email: string; access_token: string }, email: string) {
  const last = lastTo(user.email)
  await put(server, '/user', { email }, { token: user.access_token, ...aClient() })
  return { toNew: await mailTo(server, email), toCurrent: await mailTo(server, user.email, last) }
}

describe('a pending change', () => {
  it('ends with the address that an administrator sets, also when half of it is confirmed', async () => {
    const user = await aUser(server)
    const { toNew, toCurrent } = await beginChange(user, anEmail())
    expect((await verify({ type: 'email_change', token: toCurrent.token })).status).toBe(200)
    const right = anEmail()
    await put(server, `/admin/users/${user.user.id}`, { email: right }, ADMIN)
    expect((await verify({ type: 'email_change', token: toNew.token })).status).toBe(403)
    expect(await accountOf(user.user.id)).toMatchObject({ email: right })
    expect(await accountOf(user.user.id)).not.toHaveProperty('new_email')
  })

  it('ends with the number that an administrator sets', async () => {
    const user = await aUser(server)
    const [pending, right] = [aPhone(), aPhone()]
    await put(server, '/user', { phone: pending }, { token: user.access_token, ...aClient() })
    await server.settled()
    await put(server, `/admin/users/${user.user.id}`, { phone: right, phone_confirm: true }, ADMIN)
    const proof = { type: 'phone_change', phone: pending, token: gateway.codeFor(pending) }
    expect((await verify(proof)).status).toBe(403)
    expect(await accountOf(user.user.id)).toMatchObject({ phone: right })
  })

  it.each<[string, (tx: Tx, userId: string) => Promise<unknown>]>([
    [
      'one change',
      (tx, userId) => server.context.stores.pendingChanges.drop(tx, userId, 'newEmail', new Date()),
    ],
    ['every change', (tx, userId) => server.context.stores.pendingChanges.dropAll(tx, userId, new Date())],
  ])('leaves no confirmed half behind when a user gives up %s', async (_name, drop) => {
    const user = await aUser(server)
    const { toCurrent } = await beginChange(user, anEmail())
    expect((await verify({ type: 'email_change', token: toCurrent.token })).status).toBe(200)
    await server.context.db.transaction((tx) => drop(tx, user.user.id))
    const { rows } = await server.context.db.query(
      'select email_change, email_change_confirm_status from users where id = $1',
      [user.user.id],
    )
    expect(rows).toEqual([{ email_change: null, email_change_confirm_status: 0 }])
  })

  it('can be sent again as long as it is shown', async () => {
    const user = await aUser(server)
    const next = anEmail()
    await beginChange(user, next)
    const last = lastTo(user.email)
    await post(server, '/otp', { email: user.email }, aClient())
    const { code } = await mailTo(server, user.email, last)
    await verify({ type: 'email', email: user.email, token: code })
    expect((await get(server, '/user', { token: user.access_token })).body).toMatchObject({ new_email: next })
    const [toNew, toCurrent] = [lastTo(next), lastTo(user.email)]
    await post(server, '/resend', { type: 'email_change', email: user.email }, aClient())
    for (const { token } of [await mailTo(server, next, toNew), await mailTo(server, user.email, toCurrent)])
      expect((await verify({ type: 'email_change', token })).status).toBe(200)
    expect(await accountOf(user.user.id)).toMatchObject({ email: next })
  })

  it('is not complete with the current address alone, whatever the setting is by then', async () => {
    const user = await aUser(server)
    const next = anEmail()
    const { toNew, toCurrent } = await beginChange(user, next)
    const DATABASE_URL = server.databaseUrl
    const other = await startServer({
      ...ENV,
      DATABASE_URL,
      AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
    })
    try {
      const proof = { type: 'email_change', token: toCurrent.token }
      await post(other, '/verify', proof, { settle: false, ...aClient() })
      expect(await accountOf(user.user.id)).toMatchObject({ email: user.email })
      const rest = { type: 'email_change', token: toNew.token }
      expect((await post(other, '/verify', rest, { settle: false, ...aClient() })).status).toBe(200)
      expect(await accountOf(user.user.id)).toMatchObject({ email: next })
    } finally {
      await other.close()
    }
  })
})

describe('the quota of a new address', () => {
  it('is not used up by requests with a wrong nonce, which send nothing', async () => {
    const strict = await startServer({
      ...ENV,
      AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
    })
    try {
      const [stranger, owner] = [await aUser(strict), await aUser(strict)]
      const email = anEmail()
      for (let n = 0; n < 10; n += 1) {
        const change = { email, password: `another one ${n}`, nonce: '000000' }
        const answer = await put(strict, '/user', change, { token: stranger.access_token, ...aClient() })
        expect(answer.status).toBe(422)
      }
      const answer = await put(strict, '/user', { email }, { token: owner.access_token, ...aClient() })
      expect(answer.status).toBe(200)
    } finally {
      await strict.close()
    }
  })
})

describe('an address that many accounts want', () => {
  /** Requests the address for an account without one, so the code sent to the new address is enough to confirm it. */
  async function wants(email: string, from: ReturnType<typeof aClient>) {
    const last = lastTo(email)
    const { body } = await post(server, '/signup', {}, from)
    const session = { token: String(body['access_token']) }
    await put(server, '/user', { email }, { ...session, ...from })
    return { ...(await mailTo(server, email, last)), session }
  }
  const type = (email: string, code: string | undefined, from: Parameters<typeof post>[3]) =>
    post(server, '/verify', { type: 'email_change', email, token: code }, from)

  it('is guarded by two codes of a network at most, so that a guess meets no more', async () => {
    const [email, from] = [anEmail(), aClient()]
    const mails: Awaited<ReturnType<typeof wants>>[] = []
    for (let n = 0; n < 3; n += 1) {
      server.clock.advance(60_000)
      mails.push(await wants(email, from))
    }
    expect((await type(email, mails[0]?.code, from)).status).toBe(403)
    // Links cannot be guessed, so they continue to work.
    expect((await verify({ type: 'email_change', token: mails[0]?.token })).status).toBe(200)
    expect((await type(email, mails[1]?.code, from)).status).not.toBe(403)
  })

  it.each([0, 4, 9])('can be typed the code of, number %i, out of ten, with its session', async (index) => {
    const email = anEmail()
    const all: Awaited<ReturnType<typeof wants>>[] = []
    for (let network = 0; network < 5; network += 1) {
      const from = aClient()
      for (const at of [60_000, 60_000]) {
        server.clock.advance(at)
        all.push(await wants(email, from))
      }
    }
    expect((await type(email, all[index]?.code, { ...all[index]?.session, ...aClient() })).status).toBe(200)
  })

  it('leaves the code of its owner alone, whatever others ask for', async () => {
    const [email, owner] = [anEmail(), aClient()]
    const { code } = await wants(email, owner)
    for (let n = 0; n < 8; n += 1) {
      server.clock.advance(60_000)
      await wants(email, aClient())
    }
    expect((await type(email, code, owner)).status).toBe(200)
  })
})

describe('an address that many sign up with', () => {
  it('is guarded by six codes at most where none was requested, so that a guess meets no more', async () => {
    const email = anEmail()
    const codes: (string | undefined)[] = []
    for (let network = 0; network < 5; network += 1) {
      const from = aClient()
      for (const password of ['one password', 'another one']) {
        server.clock.advance(60_000)
        const last = lastTo(email)
        await post(server, '/signup', { email, password }, from)
        codes.push((await mailTo(server, email, last)).code)
      }
    }
    const type = (code: string | undefined) => verify({ type: 'email', email, token: code })
    for (const code of codes.slice(0, 4)) expect((await type(code)).status).toBe(403)
    expect((await type(codes[4])).status).toBe(200)
  })

  it('takes the code of who signed up there first, whatever others ask for since', async () => {
    const [email, owner] = [anEmail(), aClient()]
    await post(server, '/signup', { email, password: 'of the owner' }, owner)
    const { code } = await mailTo(server, email)
    for (let n = 0; n < 8; n += 1) {
      server.clock.advance(60_000)
      await post(server, '/signup', { email, password: 'of a stranger' }, aClient())
    }
    const proof = { type: 'email', email, token: code }
    expect((await post(server, '/verify', proof, owner)).status).toBe(200)
    const credentials = { email, password: 'of the owner' }
    expect((await post(server, '/token?grant_type=password', credentials)).status).toBe(200)
  })
})
