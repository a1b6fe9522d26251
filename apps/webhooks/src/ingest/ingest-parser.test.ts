import { afterAll, describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { newEventId } from '@signet/webhook-core'
import { createIngestParser, type IngestParser } from './ingest-parser.js'

const parser = createIngestParser()
afterAll(() => parser.close())

const LONG = 'y'.repeat(100_000)
const event = { id: newEventId(new Date(0)), createdAt: new Date(0) }
const notice = (more: object) =>
  Buffer.from(
    JSON.stringify({
      source_event_key: 'k',
      account_id: '6B0F0000-0000-4000-8000-000000000000',
      audio_id: 'r',
      ...more,
    }),
  )

describe('createIngestParser', () => {
  it('gives the same for a body that is parsed at once and for one that goes to a thread', async () => {
    const transcript = { text: 'Grüße 😀', segments: [{ speaker: 'A', start: 0, end: 1, text: 'x' }] }
    const small = await parser.summaryReady(notice({ transcript }), event)
    const large = await parser.summaryReady(
      notice({ transcript: { ...transcript, text: 'y'.repeat(100_000) } }),
      event,
    )
    expect(small.accountId).toBe('6b0f0000-0000-4000-8000-000000000000')
    expect({ ...large, hash: small.hash, parts: small.parts }).toEqual(small)
    expect(large.parts).toEqual({
      ...small.parts,
      transcript: { ...small.parts.transcript, text: new TextEncoder().encode('y'.repeat(100_000)) },
    })
  })

  it('leaves the event loop to others while it refuses a thousand lines, however short they are', async () => {
    const refused = parser.batch(Buffer.from('x\n'.repeat(1000)), event.createdAt)
    const first = await Promise.race([refused.then(() => 'all lines'), turn('other work')])
    expect(first).toBe('other work')
    expect(await refused).toHaveLength(1000)
  })

  it('refuses from a thread in the same words', async () => {
    const bad = { transcript: { text: 'y'.repeat(100_000), segments: [1] } }
    await expect(parser.summaryReady(notice(bad), event)).rejects.toMatchObject({
      code: 'bad_request',
      message: 'transcript.segments[0] must be an object',
    })
    await expect(parser.recording(Buffer.from(`[${'1,'.repeat(50_000)}1]`), 'a')).rejects.toMatchObject({
      message: 'This must be a JSON object',
    })
  })

  it('refuses a body that would explode in memory, and goes on', async () => {
    const exploding = Buffer.from(`{"x":[${'{},'.repeat(3_000_000)}1]}`)
    await expect(parser.recording(exploding, 'a')).rejects.toMatchObject({
      kind: 'too_large',
      code: 'bad_request',
    })
    await expect(
      parser.recording(Buffer.from(`{"title":"${'y'.repeat(100_000)}"}`), 'a'),
    ).resolves.toBeDefined()
  })

  it.each<[string, (parser: IngestParser, accountId: string) => Promise<unknown>]>([
    ['notices', (parser, account_id) => parser.summaryReady(notice({ account_id, title: LONG }), event)],
    ['batches', (parser, account_id) => parser.batch(notice({ account_id, title: LONG }), event.createdAt)],
    ['recordings', (parser, accountId) => parser.recording(Buffer.from(`{"title":"${LONG}"}`), accountId)],
  ])('takes large %s of each account in turn, however many one of them sends', async (_, parse) => {
    const single = createIngestParser({ threads: 1 })
    const [flooding, other] = [randomUUID(), randomUUID()]
    const parsed: string[] = []
    const accounts = [...Array.from({ length: 10 }, () => flooding), other]
    await Promise.all(
      accounts.map((accountId) =>
        parse(single, accountId)
          .catch(() => undefined)
          .finally(() => parsed.push(accountId)),
      ),
    )
    // The first one is already being parsed when the others arrive.
    expect(parsed.indexOf(other)).toBe(1)
    await single.close()
  })
  it('takes large bodies of different accounts in the order in which they came', async () => {
    const single = createIngestParser({ threads: 1 })
    const accounts = Array.from({ length: 10 }, (_, i) => `account ${i}`)
    const parsed: string[] = []
    const parse = async (accountId: string) => {
      await single.recording(Buffer.from(`{"title":"${LONG}"}`), accountId)
      parsed.push(accountId)
    }
    await Promise.all(accounts.map(parse))
    expect(parsed).toEqual(accounts)
    await single.close()
  })
})
