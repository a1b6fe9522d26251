import { afterEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { OutboxSender } from '../src/outbox/outbox-sender.js'
import { type OutboxHandler, UnknownOutcomeError } from '../src/outbox/outbox-handler.js'
import { anEmail, PASSWORD, post } from './support/api.js'
import { META } from './support/meta.js'
import { startSlowMailServer } from './support/slow-mail-server.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'

const closes: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close()
})

async function aServer(env: Record<string, string> = {}): Promise<TestServer> {
  const server = await startServer({ ...NO_EMAIL_GAPS, ...env })
  closes.push(() => server.close())
  return server
}

type Row = { attempts: number; claimed: boolean; delay: number }

async function rowsOf({ context, clock }: TestServer, kind: string): Promise<Row[]> {
  const { rows } = await context.db.query<Row>(
    `select attempts, claimed_by is not null as claimed, extract(epoch from next_attempt_at - $2)::float8 as delay
       from outbox where kind = $1`,
    [kind, clock.now()],
  )
  return rows
}

/**
 * Waits until `count` emails have arrived. On a busy machine, an attempt may time out before it reaches the mail server; then the clock
 * moves on to the next attempt, a minute later.
 */
const arrived = (server: TestServer, ids: readonly unknown[], count: number) =>
  waitFor(async () => {
    const [row] = await rowsOf(server, 'email')
    if (ids.length < count && row?.claimed === false) server.clock.advance(60_000)
    return ids.length === count
  })

describe('an email to a mail server that takes its time to answer', () => {
  async function aSignUp(env: Record<string, string>) {
    const mail = await startSlowMailServer()
    closes.push(mail.close)
    const server = await aServer({ AUTH_OUTBOX_POLL_INTERVAL: '20ms', AUTH_SMTP_PORT: mail.port, ...env })
    await post(server, '/signup', { email: anEmail(), password: PASSWORD }, { settle: false })
    await arrived(server, mail.ids, 1)
    return { mail, server }
  }

  it('is sent once', async () => {
    const { mail, server } = await aSignUp({ AUTH_OUTBOX_ATTEMPT_TIMEOUT: '10m' })
    // Sends whatever else is due in the meantime.
    server.clock.advance(300_000)
    await server.context.outboxSender.poll()
    mail.answer()
    await waitFor(async () => (await rowsOf(server, 'email')).length === 0)
    expect([mail.ids.length, mail.sockets.length]).toEqual([1, 1])
  })

  it('is sent again after a minute if there is no answer in the time for an attempt, under the same Message-ID', async () => {
    const { mail, server } = await aSignUp({ AUTH_OUTBOX_ATTEMPT_TIMEOUT: '200ms' })
    await waitFor(async () => (await rowsOf(server, 'email'))[0]?.claimed === false)
    const [row] = await rowsOf(server, 'email')
    expect(row?.attempts).toBeGreaterThanOrEqual(1)
    expect(row?.delay).toBeGreaterThanOrEqual(60)
    // Nothing of the attempt is left to reach the mail server later.
    await waitFor(() => mail.sockets.every(({ destroyed }) => destroyed))
    await arrived(server, mail.ids, 2)
    expect(new Set(mail.ids).size).toBe(1)
  })
})

describe('an attempt whose outcome is unknown', () => {
  async function attemptWith(expiresInMs: number | null, handler: Partial<OutboxHandler<object>> = {}) {
    const server = await aServer()
    const { db, stores, outbox, audit, observer } = server.context
    const signals: AbortSignal[] = []
    const sender = new OutboxSender({
      ...{ db, presenceDb: db, store: stores.outbox, outbox, audit, observer, now: server.clock.now },
      pollMs: 3_600_000,
      stopMs: 1,
      handlers: [
        {
          kind: 'unknown',
          concurrency: 1,
          ordered: false,
          attemptMs: 600_000,
          retryDelayMs: () => 2000,
          unknownDelayMs: 60_000,
          send(_payload, { signal }) {
            signals.push(signal)
            return Promise.reject(new UnknownOutcomeError('cut off'))
          },
          ...handler,
        },
      ],
    })
    const stop = sender.start()
    const expiresAt = expiresInMs === null ? null : new Date(server.clock.now().getTime() + expiresInMs)
    const message = { kind: 'unknown', recipient: 'ann', payload: {}, expiresAt }
    await db.transaction((tx) => outbox.add(tx, message, META))
    return { server, sender, stop, signals }
  }

  it.each([
    ['is repeated later than others', null, 60],
    ['is repeated as soon as others where the message would expire', 50_000, 2],
  ])('%s', async (_, expiresInMs, delay) => {
    const { server, sender, stop } = await attemptWith(expiresInMs)
    await waitFor(async () => (await rowsOf(server, 'unknown'))[0]?.attempts === 1)
    await sender.settled()
    expect(await rowsOf(server, 'unknown')).toEqual([{ attempts: 1, claimed: false, delay }])
    await stop()
  })

  it('is what a sender leaves that stops, so that no other one repeats it at once', async () => {
    let given: AbortSignal | undefined
    const { server, stop } = await attemptWith(null, {
      send(_payload, { signal }) {
        given = signal
        return new Promise(() => undefined)
      },
    })
    await waitFor(() => given !== undefined)
    await stop()
    expect(given?.aborted).toBe(true)
    expect(await rowsOf(server, 'unknown')).toEqual([{ attempts: 1, claimed: false, delay: 60 }])
  })
})
