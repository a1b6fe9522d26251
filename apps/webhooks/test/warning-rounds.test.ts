import { describe, expect, it } from '@jest/globals'
import { createLogger, createRegistry } from '@signet/telemetry'
import { createContext } from '../src/context.js'
import { readConfig } from '../src/config/read-config.js'
import { ADMIN_JWT } from './support/identity-double.js'
import { useWarnings } from './support/warnings.js'

const rig = useWarnings()
const { aWarning, makeDue, send, stateOf } = rig

const metric = async (outcome: string): Promise<number> => {
  const text = await (await fetch(`${rig.harness.internal}/metrics`)).text()
  return Number(
    new RegExp(`webhook_warning_emails_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0,
  )
}

describe('a warning', () => {
  it('that nobody could send for a day is given up, with a line and a count', async () => {
    const before = await metric('expired')
    const { id } = await aWarning(rig.harness.identity.addUser().id, {
      createdAt: `now() - interval '25 hours'`,
    })
    await send()
    expect([rig.inbox.messages(), await stateOf(id)]).toMatchObject([[], { outcome: 'expired' }])
    expect(await metric('expired')).toBe(before + 1)
    const line = rig.harness.logLines
      .map((one) => JSON.parse(one) as object)
      .find((one) => 'warning_id' in one && one.warning_id === id)
    expect(line).toMatchObject({ level: 'error', outcome: 'expired' })
  })

  it('that the mail server refuses for good is given up', async () => {
    rig.inbox.fail({ at: 'recipient', code: 550 })
    const { id } = await aWarning(rig.harness.identity.addUser().id)
    await send()
    expect(await stateOf(id)).toMatchObject({ outcome: 'refused', attempts: 1 })
  })

  it.each<[string, () => void]>([
    ['the mail server has no time', () => rig.inbox.fail({ at: 'message', code: 451 })],
    ['the identity server is out of order', () => rig.harness.identity.failWith({ status: 503 })],
    ['the identity server refuses our credential', () => rig.harness.identity.failWith({ status: 401 })],
  ])('waits longer each time when %s, and is sent in the end', async (_, fail) => {
    fail()
    const user = rig.harness.identity.addUser()
    const { id } = await aWarning(user.id)
    const delays: number[] = []
    for (let round = 1; round <= 3; round += 1) {
      await send()
      const state = await stateOf(id)
      expect(state).toMatchObject({ outcome: null, attempts: round })
      delays.push(state?.delay ?? 0)
    }
    expect(delays[0]).toBeGreaterThan(15)
    expect(delays[2]).toBeGreaterThan(2 * (delays[0] ?? 0))
    rig.inbox.fail(null)
    rig.harness.identity.failWith(null)
    await send()
    expect(rig.inbox.messages({ to: user.email })).toHaveLength(1)
    expect(await stateOf(id)).toMatchObject({ outcome: 'sent', attempts: 4 })
  })
})

describe('several replicas', () => {
  it('send each warning once', async () => {
    const users = Array.from({ length: 30 }, () => rig.harness.identity.addUser())
    for (const user of users) await aWarning(user.id)
    const replicas = Array.from({ length: 3 }, () =>
      createContext(rig.harness.ctx.config, {
        log: createLogger({ level: 'error', component: 'replica', sink: () => undefined }),
        registry: createRegistry({ runtime: false }),
      }),
    )
    await makeDue()
    await Promise.all(replicas.map(async ({ warnings }) => await warnings?.run()))
    await Promise.all(replicas.map((replica) => replica.close()))
    await send()
    expect(
      rig.inbox
        .messages()
        .flatMap(({ to }) => to)
        .sort(),
    ).toEqual(users.map(({ email }) => email).sort())
  })
})

describe('emails that are switched off', () => {
  it.each(['WEBHOOKS_WARNING_EMAILS', 'WEBHOOKS_SMTP_HOST'])('by %s have no sender', async (name) => {
    const env = {
      WEBHOOKS_BASE_URL: 'https://hooks.example',
      WEBHOOKS_DATABASE_URL: rig.harness.databaseUrl,
      WEBHOOKS_REDIS_URL: rig.harness.ctx.config.redisUrl,
      WEBHOOKS_IDENTITY_URL: rig.harness.identity.url,
      WEBHOOKS_SECRET_KEYS: `k1:${Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64')}`,
      WEBHOOKS_INTERNAL_TOKENS: `pipeline:${'ab'.repeat(32)}`,
      WEBHOOKS_IDENTITY_SERVICE_TOKEN: ADMIN_JWT,
      ...(name === 'WEBHOOKS_WARNING_EMAILS'
        ? {
            WEBHOOKS_SMTP_HOST: '127.0.0.1',
            WEBHOOKS_SMTP_PORT: '25',
            WEBHOOKS_SMTP_ADMIN_EMAIL: 'no-reply@signet.example',
            WEBHOOKS_WARNING_EMAILS: 'false',
          }
        : {}),
    }
    const context = createContext(readConfig(env), {
      log: createLogger({ level: 'error', component: 'off', sink: () => undefined }),
      registry: createRegistry({ runtime: false }),
    })
    expect(context.warnings).toBeUndefined()
    await context.close()
  })
})

it('warnings are forgotten after a week', async () => {
  const old = await aWarning(rig.harness.identity.addUser().id, { createdAt: `now() - interval '8 days'` })
  const recent = await aWarning(rig.harness.identity.addUser().id, { createdAt: `now() - interval '6 days'` })
  await rig.harness.ctx.cleanup.runDaily()
  expect(await stateOf(old.id)).toBeUndefined()
  expect(await stateOf(recent.id)).toBeDefined()
})
