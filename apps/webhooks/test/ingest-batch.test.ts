import { connect } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { startStack, waitFor } from '@signet/testkit'
import { lockRecording } from '../src/ingest/recording-store.js'
import { aNotice, eventRows, mirrorOf, queuedEvents } from './support/api-data.js'
import { useApi } from './support/api.js'
import { SERVICE_TOKEN } from './support/harness.js'

const PATH = '/internal/v1/summary-ready/batch'
const NDJSON = { 'content-type': 'application/x-ndjson' }
const api = useApi()

type Line = { status: number; event_id?: string; duplicate?: boolean; error?: { code: string } }
const post = async (lines: readonly (object | string)[], end = '\n') => {
  const raw = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n') + end
  const reply = await api.internal('POST', PATH, { raw, headers: NDJSON })
  return { ...reply, lines: reply.body as Line[] }
}
const eventCount = async (db: Pick<Db, 'query'>, accountId: string) => {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::integer as count from webhook_events where account_id = $1',
    [accountId],
  )
  return rows[0]?.count ?? 0
}
const notices = (accountId: string, count: number) =>
  Array.from({ length: count }, (_, n) => aNotice(accountId, { audio_id: `rec_${n}` }))

describe(`POST ${PATH}`, () => {
  it('answers each line as a single notice would be answered, in their order, and publishes the events', async () => {
    const { accountId } = await api.anAccount()
    const gone = await api.anAccount()
    await api.internal('DELETE', `/internal/v1/accounts/${gone.accountId}`)
    const first = aNotice(accountId)
    const { status, headers, lines } = await post([
      first,
      '{"a":',
      aNotice(accountId, { audio_id: 'rec_2', transcript: undefined }),
      '',
      aNotice(accountId, { account_id: 'nobody' }),
      first,
      { ...first, audio_id: 'rec_3' },
      aNotice(gone.accountId),
      '  \r',
    ])
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
    expect(lines.map(({ status }) => status)).toEqual([202, 400, 202, 400, 200, 409, 410])
    expect(lines[4]).toEqual({ status: 200, event_id: lines[0]?.event_id, duplicate: true })
    expect(lines[1]?.error?.code).toBe('bad_request')
    expect(lines[6]?.error?.code).toBe('account_deleted')
    expect((await eventRows(api, accountId)).map(({ id }) => id).sort()).toEqual(
      [lines[0]?.event_id, lines[2]?.event_id].sort(),
    )
    await waitFor(async () => {
      const queued = new Set<unknown>((await queuedEvents(api)).map(({ eventId }) => eventId))
      return queued.has(lines[0]?.event_id) && queued.has(lines[2]?.event_id)
    })
  })

  it('refuses a line that is not UTF-8 alone', async () => {
    const { accountId } = await api.anAccount()
    const [first, last] = notices(accountId, 2).map((notice) => Buffer.from(`${JSON.stringify(notice)}\n`))
    const raw = Buffer.concat(
      [first ?? '', Buffer.from([0xff, 0xfe, 0x0a]), last ?? ''].map((line) => Buffer.from(line)),
    )
    const { status, body } = await api.internal('POST', PATH, { raw, headers: NDJSON })
    expect([status, (body as Line[]).map((line) => line.status)]).toEqual([200, [202, 400, 202]])
    expect((body as Line[])[1]?.error).toMatchObject({ message: 'The line is not valid UTF-8' })
  })

  it('takes a thousand lines, in fewer statements, and the same again as duplicates', async () => {
    const { accountId } = await api.anAccount()
    const batch = notices(accountId, 1000)
    const first = await post(batch)
    expect(new Set(first.lines.map(({ status }) => status))).toEqual(new Set([202]))
    expect(await eventCount(api.db, accountId)).toBe(1000)
    const again = await post(batch, '')
    expect(new Set(again.lines.map(({ status }) => status))).toEqual(new Set([200]))
    expect(again.lines.map(({ event_id }) => event_id)).toEqual(first.lines.map(({ event_id }) => event_id))
    expect(await eventCount(api.db, accountId)).toBe(1000)
  })

  it('stores one event and one whole recording when all lines have one key', async () => {
    const { accountId } = await api.anAccount()
    const notice = aNotice(accountId)
    const { lines } = await post(
      Array.from({ length: 50 }, (_, n) => (n % 2 ? notice : { ...notice, recording: { title: `${n}` } })),
    )
    const statuses = lines.map(({ status }) => status)
    expect(statuses.filter((status) => status === 202)).toHaveLength(1)
    expect(statuses.every((status) => [200, 202, 409].includes(status))).toBe(true)
    const winner = statuses.indexOf(202)
    expect((await mirrorOf(api, accountId)).recording?.['title']).toBe(
      winner % 2 ? 'Weekly sync' : `${winner}`,
    )
  })

  it.each([
    ['no lines at all', '\n\n', {}, 200],
    ['no body', '', {}, 400],
    ['JSON that calls itself JSON', '{}', { 'content-type': 'application/json' }, 400],
    ['too many lines', `${'{}\n'.repeat(1001)}`, {}, 413],
    ['too many values', `{"x":[${'{},'.repeat(1_600_000)}1]}`, {}, 413],
  ])('answers %s as a whole', async (_, raw, headers, status) => {
    const reply = await api.internal('POST', PATH, { raw, headers: { ...NDJSON, ...headers } })
    expect(reply.status).toBe(status)
    if (status === 200) expect(reply.text).toBe('')
  })

  it('finishes its work for a client that never reads, and others are answered meanwhile', async () => {
    const { accountId } = await api.anAccount()
    const body = notices(accountId, 1000)
      .map((notice) => `${JSON.stringify(notice)}\n`)
      .join('')
    const { hostname, port } = new URL(api.internalUrl)
    const client = connect(Number(port), hostname).pause()
    client.write(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${SERVICE_TOKEN}\r\n` +
        `Content-Type: application/x-ndjson\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    const other = await api.anAccount()
    const reply = await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(other.accountId) })
    expect(reply.status).toBe(202)
    await waitFor(async () => (await eventCount(api.db, accountId)) === 1000)
    client.destroy()
  })

  it('has no room for another large batch while there are too many', async () => {
    const beginning = Buffer.alloc(20_000_000, '{')
    const stream = () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(beginning)
        },
      })
    const hanging = new AbortController()
    const requests = Array.from({ length: 8 }, () =>
      fetch(`${api.internalUrl}${PATH}`, {
        method: 'POST',
        headers: { ...NDJSON, authorization: `Bearer ${SERVICE_TOKEN}` },
        body: stream(),
        duplex: 'half',
        signal: hanging.signal,
      }),
    )
    const first = await Promise.race(requests)
    expect([first.status, first.headers.get('retry-after')]).toEqual([503, '5'])
    hanging.abort()
    await Promise.allSettled(requests)
  })
})

describe('a process that is killed in the middle of a batch', () => {
  it('has stored whole lines, and the repeated batch creates every other one exactly once', async () => {
    const stack = await startStack({ apps: ['webhooks'] })
    const db = new Db({ connectionString: stack.webhooksDatabaseUrl })
    try {
      const accountId = '6b0f0f0f-0000-4000-8000-000000000000'
      const batch = notices(accountId, 1000)
      const send = async () => {
        const response = await fetch(`${stack.internalUrl}${PATH}`, {
          method: 'POST',
          headers: { ...NDJSON, authorization: `Bearer ${stack.internalToken}` },
          body: batch.map((notice) => JSON.stringify(notice)).join('\n'),
        })
        return (await response.text())
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Line)
      }
      // One line waits for this lock, so the answer cannot have been sent.
      await db.transaction(async (tx) => {
        await lockRecording(tx, { accountId, audioId: 'rec_500' })
        const cut = send().catch(() => 'cut off')
        await waitFor(async () => (await eventCount(db, accountId)) === 999)
        await stack.kill('webhooks')
        expect(await cut).toBe('cut off')
      })
      await stack.restart('webhooks')
      const lines = await send()
      // The waiting statement ends with its connection, or stores the line at the moment the lock is released.
      const [waited] = lines.splice(500, 1)
      expect([200, 202]).toContain(waited?.status)
      expect(lines.map(({ status }) => status)).toEqual(Array(999).fill(200))
      expect(await eventCount(db, accountId)).toBe(1000)
    } finally {
      await db.close()
      await stack.close()
    }
  })
})
