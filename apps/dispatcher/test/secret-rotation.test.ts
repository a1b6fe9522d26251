import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ReceivedDelivery } from '@signet/local'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { activateNextSecret, cancelNextSecret } from '@signet/webhook-core/stores'
import { verify } from '@signet/webhook-verify'
import { Webhook } from 'standardwebhooks'
import { startAnother, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber, TestEndpoint } from './support/subscriber.js'

let receiver: Receiver
let dispatcher: TestDispatcher
beforeAll(async () => {
  receiver = await startReceiver()
  dispatcher = await startDispatcher({
    env: { DISPATCHER_RETRY_DELAYS_SECONDS: '0.1' },
    ports: { ca: receiver.authorityCert },
  })
})
afterAll(async () => {
  await dispatcher.stop()
  await receiver.close()
})

const trusts = (check: () => unknown): boolean => {
  try {
    check()
    return true
  } catch {
    return false
  }
}

/** Which receivers accept a delivery: those that trust the old secret, the new one, or both. */
function takenBy({ body, headers }: ReceivedDelivery, old: string, next: string) {
  // Verifies like a receiver that knows only the `x-` headers: the others would decide if they were present.
  const ofService = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-')))
  const service = (secrets: string[]) =>
    secrets.some((secret) => trusts(() => verify(body, ofService, secret)))
  const standard = (secrets: string[]) =>
    secrets.some((secret) =>
      trusts(() => new Webhook(secret).verify(body, headers as Record<string, string>)),
    )
  const by = (accepts: (secrets: string[]) => boolean) => ({
    old: accepts([old]),
    new: accepts([next]),
    both: accepts([old, next]),
  })
  return { service: by(service), standard: by(standard) }
}

const OLD_ONLY = { old: true, new: false, both: true }
const NEW_ONLY = { old: false, new: true, both: true }
const EITHER = { old: true, new: true, both: true }

let paths = 0
async function given() {
  const subscriber = dispatcher.subscriber()
  const path = `/rotation-${(paths += 1)}`
  const endpoint = await subscriber.endpoint(receiver.url(path))
  return { subscriber, endpoint, deliver: () => aDelivery(subscriber, path) }
}

async function aDelivery(subscriber: Subscriber, path: string): Promise<ReceivedDelivery> {
  const after = receiver.deliveries({ path }).at(-1)
  await subscriber.summary()
  return receiver.waitForDelivery({ path, ...(after && { after }) })
}

const elapse = ({ id }: TestEndpoint) =>
  dispatcher.db.query(
    `update webhook_endpoints set next_secret_active_at = now() - interval '10 seconds' where id = $1`,
    [id],
  )

describe('a delivery while its secret is being replaced', () => {
  it('is taken by those who trust the old secret or both until the activation, by those who trust the new or both from then on', async () => {
    const { subscriber, endpoint, deliver } = await given()
    const next = await subscriber.nextSecret(endpoint)
    const waiting = takenBy(await deliver(), endpoint.secret, next)
    expect(waiting).toEqual({ service: OLD_ONLY, standard: EITHER })
    await activateNextSecret(dispatcher.db, subscriber.accountId, endpoint.id)
    expect(takenBy(await deliver(), endpoint.secret, next)).toEqual({ service: NEW_ONLY, standard: NEW_ONLY })
  })

  it('is signed with the old secret alone after the next one was cancelled', async () => {
    const { subscriber, endpoint, deliver } = await given()
    const next = await subscriber.nextSecret(endpoint)
    await cancelNextSecret(dispatcher.db, subscriber.accountId, endpoint.id)
    expect(takenBy(await deliver(), endpoint.secret, next)).toEqual({ service: OLD_ONLY, standard: OLD_ONLY })
  })

  it('is signed with the new secret alone at once where that was asked for', async () => {
    const { subscriber, endpoint, deliver } = await given()
    const next = await subscriber.nextSecret(endpoint, 0)
    expect(takenBy(await deliver(), endpoint.secret, next)).toEqual({ service: NEW_ONLY, standard: NEW_ONLY })
  })

  it('is signed as it is now when it is tried again', async () => {
    const { subscriber, endpoint, deliver } = await given()
    const path = new URL(endpoint.url).pathname
    let activated = () => {}
    const after = new Promise<void>((resolve) => (activated = resolve))
    receiver.hook(path, { answers: [reply(500, { after })] })
    const next = await subscriber.nextSecret(endpoint)
    const first = await deliver()
    await activateNextSecret(dispatcher.db, subscriber.accountId, endpoint.id)
    activated()
    expect(takenBy(first, endpoint.secret, next).service).toEqual(OLD_ONLY)
    const second = await receiver.waitForDelivery({ path, after: first })
    expect(takenBy(second, endpoint.secret, next)).toEqual({ service: NEW_ONLY, standard: NEW_ONLY })
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
  })

  it('changes at its time without anybody activating it, and stays so after a restart', async () => {
    const { subscriber, endpoint, deliver } = await given()
    const next = await subscriber.nextSecret(endpoint)
    await elapse(endpoint)
    expect(takenBy(await deliver(), endpoint.secret, next)).toEqual({ service: NEW_ONLY, standard: NEW_ONLY })
    const third = await subscriber.nextSecret(endpoint)
    await dispatcher.engine.stop()
    const successor = startAnother(dispatcher.env, { ca: receiver.authorityCert })
    try {
      expect(takenBy(await deliver(), next, third)).toEqual({ service: OLD_ONLY, standard: EITHER })
      await elapse(endpoint)
      expect(takenBy(await deliver(), next, third)).toEqual({ service: NEW_ONLY, standard: NEW_ONLY })
    } finally {
      await successor.stop()
    }
  })
})
