import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { leasePort } from '@signet/local'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { purgeRecording } from '@signet/webhook-core/stores'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'

let receiver: Receiver
let dispatcher: TestDispatcher
beforeAll(async () => {
  receiver = await startReceiver()
  dispatcher = await startDispatcher({
    env: { DISPATCHER_RETRY_DELAYS_SECONDS: '0.05' },
    ports: { ca: receiver.authorityCert },
  })
})
afterAll(async () => {
  await dispatcher.stop()
  await receiver.close()
})

type Row = {
  number: number
  http_status: number | null
  error: string
  exchange: Record<string, number | string> | null
  answer: string | null
}

/** Publishes an event to this URL, and returns what the log says about its attempts once the delivery has ended. */
async function attemptsAt(url: string, audioId = 'rec_1') {
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(url)
  await subscriber.summary({ audioId })
  const [delivery] = await waitFor(async () => {
    const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
    return rows[0] && rows[0].status !== 0 && rows
  })
  const read = async () => {
    const { rows } = await dispatcher.db.query<Row>(
      `select number, http_status, error, exchange, answer from webhook_attempts
       where delivery_id = $1 order by number`,
      [delivery?.id],
    )
    return rows
  }
  return { accountId: subscriber.accountId, attempts: await read(), read }
}

const milliseconds = expect.any(Number) as unknown

describe('the log of an attempt', () => {
  it('has every phase of a new connection, the address, and how the response began', async () => {
    receiver.hook('/failing', {
      answers: [reply(503, { body: 'try \u001b[31mlater\n' }), reply(200, { body: 'thanks' })],
    })
    const { attempts } = await attemptsAt(`https://localhost:${receiver.port}/failing`)
    expect(attempts[0]).toEqual({
      number: 1,
      http_status: 503,
      error: 'http_503',
      exchange: {
        dns: milliseconds,
        connect: milliseconds,
        tls: milliseconds,
        first_byte: milliseconds,
        peer: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) as unknown,
      },
      answer: 'try \\u001b[31mlater\\n',
    })
    expect(attempts[1]).toMatchObject({ number: 2, http_status: 200, error: '' })
    expect(attempts[1]?.exchange).toMatchObject({ first_byte: milliseconds })
    for (const value of Object.values(attempts[0]?.exchange ?? {}))
      if (typeof value === 'number') expect(Number.isInteger(value) && value >= 0).toBe(true)
  })

  it('keeps 1 KiB of an answer, and nothing of one that is not text', async () => {
    receiver.hook('/long', { answers: [reply(500, { body: 'x'.repeat(5000) }), reply(500)] })
    const { attempts } = await attemptsAt(receiver.url('/long'))
    expect(attempts.map(({ answer }) => answer)).toEqual(['x'.repeat(1024), null])
  })

  it('has the text of an answer in another charset, and of one with some bytes that are not text', async () => {
    const latin1 = (text: string) => Buffer.from(text, 'latin1')
    const headers = { 'content-type': 'text/plain; charset=ISO-8859-1' }
    receiver.hook('/charset', {
      answers: [reply(500, { body: latin1('Ungültig'), headers }), reply(500, { body: latin1('Ungültig') })],
    })
    const { attempts } = await attemptsAt(receiver.url('/charset'))
    expect(attempts.map(({ answer }) => answer)).toEqual(['Ungültig', 'Ung\ufffdltig'])
  })

  it('says how far a connection came that failed', async () => {
    // Nothing listens on a port that is only leased.
    const port = await leasePort()
    const { attempts } = await attemptsAt(`https://localhost:${port}/`)
    expect(attempts).toHaveLength(2)
    expect(attempts[0]).toEqual({
      number: 1,
      http_status: null,
      error: 'connection_refused',
      exchange: { dns: milliseconds },
      answer: null,
    })
  })

  it('forgets the responses to the events of a deleted recording, and nothing else of them', async () => {
    receiver.hook('/echo', { otherwise: reply(500, { body: 'you said: secret' }) })
    const { accountId, attempts, read } = await attemptsAt(receiver.url('/echo'), 'rec_echo')
    expect(attempts.map(({ answer }) => answer)).toEqual(['you said: secret', 'you said: secret'])
    await purgeRecording(dispatcher.db, { accountId, audioId: 'rec_echo' })
    expect(await read()).toEqual(attempts.map((attempt) => ({ ...attempt, answer: null })))
  })
})
