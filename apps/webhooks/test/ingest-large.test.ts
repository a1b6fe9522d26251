import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from '@jest/globals'
import { holdsInSomeRun, waitFor } from '@signet/testkit'
import { newEventId } from '@signet/webhook-core'
import { readSummaryReady } from '../src/ingest/ingest-body.js'
import { aNotice, eventRows } from './support/api-data.js'
import { useApi } from './support/api.js'
import { SERVICE_TOKEN } from './support/harness.js'
import { heldUpload, type HeldUpload } from './support/held-upload.js'

const api = useApi()
const MIB = 1024 * 1024
const LIMIT = 32 * MIB

const CLIENT = `
  const { workerData, parentPort } = require('node:worker_threads')
  const { url, token, bytes } = workerData
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
  fetch(url, { method: 'POST', headers, body: bytes }).then((response) => parentPort.postMessage(response.status))
`
/** Sends from another thread, so that this event loop has only the work of the server. */
const sendApart = (bytes: Uint8Array) =>
  new Promise<number>((resolve, reject) => {
    const url = `${api.internalUrl}/internal/v1/summary-ready`
    const worker = new Worker(CLIENT, { eval: true, workerData: { url, token: SERVICE_TOKEN, bytes } })
    worker.once('message', resolve)
    worker.once('error', reject)
  })

/** A notice full of tiny segments, the worst case for the parser: 100 bytes each. */
function largeNotice(accountId: string, count: number): Buffer {
  const segment = {
    speaker: 'Speaker 1',
    start: 1.5,
    end: 2.5,
    text: 'The release went out, and all was well.',
  }
  const segments = Array.from({ length: count }, (_, i) => ({ ...segment, start: i }))
  return Buffer.from(JSON.stringify(aNotice(accountId, { transcript: { text: 'x', segments } })))
}

/** CPU time of this thread in ms, which is independent of other work on the machine; elapsed time if the system does not report it. */
function threadMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6
  } catch {
    return performance.now()
  }
}

/** How long this thread takes to parse a large notice, and to handle one that another thread sends. */
async function costsOfLarge(): Promise<{ parsing: number; handling: number }> {
  const { accountId } = await api.anAccount()
  const bytes = largeNotice(accountId, 100_000)
  const start = threadMs()
  readSummaryReady(bytes, { id: newEventId(new Date()), createdAt: new Date() })
  const parsed = threadMs()
  expect(await sendApart(bytes)).toBe(202)
  return { parsing: parsed - start, handling: threadMs() - parsed }
}

/** A notice of exactly this many bytes. */
function noticeOf(bytes: number, accountId: string): string {
  const empty = JSON.stringify(aNotice(accountId, { transcript: { text: '' } }))
  return JSON.stringify(aNotice(accountId, { transcript: { text: 'x'.repeat(bytes - empty.length) } }))
}

describe('bodies of 32 MiB', () => {
  it('are taken to the byte, and one byte more is 413', async () => {
    const { accountId } = await api.anAccount()
    const post = (raw: string) => api.internal('POST', '/internal/v1/summary-ready', { raw })
    const over = await post(noticeOf(LIMIT + 1, accountId))
    expect([over.status, over.body]).toMatchObject([413, { error: { code: 'bad_request' } }])
    expect((await post(noticeOf(LIMIT, accountId))).status).toBe(202)
    expect(await eventRows(api, accountId)).toHaveLength(1)
  })

  it('do not stall others: parsing and hashing happen in a thread', async () => {
    await costsOfLarge() // The first run compiles the code.
    await holdsInSomeRun(async () => {
      const { parsing, handling } = await costsOfLarge()
      // Receiving the bytes and passing them on takes about a third of that; parsing them here would come on top.
      expect(handling).toBeLessThan(0.8 * parsing)
    })
  })

  it('are idempotent like small ones, also in parallel', async () => {
    const { accountId } = await api.anAccount()
    const bytes = largeNotice(accountId, 10_000)
    const statuses = await Promise.all([sendApart(bytes), sendApart(bytes), sendApart(bytes)])
    expect(statuses.sort()).toEqual([200, 200, 202])
    expect(await eventRows(api, accountId)).toHaveLength(1)
  })
})

describe('beside uploads that stay open', () => {
  const open: HeldUpload[] = []
  afterEach(() => {
    for (const upload of open.splice(0)) upload.end()
  })

  type Held = { count: number; bytes: number; sendBytes: number; isChunked?: boolean }
  /** Uploads of one account that never send the end of their bodies. */
  async function hold({ count, bytes, sendBytes, isChunked = false }: Held) {
    const { accountId } = await api.anAccount()
    const body = Buffer.from(noticeOf(bytes, accountId))
    const uploads = Array.from({ length: count }, () =>
      heldUpload(`${api.internalUrl}/internal/v1/summary-ready`, {
        token: SERVICE_TOKEN,
        body,
        sendBytes,
        ...(isChunked ? {} : { declaredBytes: bytes }),
      }),
    )
    open.push(...uploads)
    return uploads
  }
  const stillOpen = () => open.every(({ seen }) => !seen.isAnswered)
  async function publish(bytes: number, chunked = false) {
    const { accountId } = await api.anAccount()
    const text = noticeOf(bytes, accountId)
    const raw = chunked ? new Blob([text]).stream() : text
    const { status } = await api.internal('POST', '/internal/v1/summary-ready', { raw })
    return status
  }

  it.each([{ isChunked: false }, { isChunked: true }])(
    'a notice of 2 KiB without a length is answered: %p',
    async ({ isChunked }) => {
      const held = await hold({ count: 4, bytes: LIMIT, sendBytes: 100_000, isChunked })
      await Promise.all(held.map((upload) => upload.sent()))
      expect(await publish(2048, true)).toBe(202)
      expect(stillOpen()).toBe(true)
    },
  )

  it('of 20 MB, a notice of 1.5 MB from another account is answered', async () => {
    const held = await hold({ count: 8, bytes: 20_000_000, sendBytes: 20_000_000 - 1 })
    const takenBytes = () => held.reduce((sum, upload) => sum + upload.takenBytes, 0)
    await waitFor(() => takenBytes() >= 40 * MIB, { describe: 'what the service takes of them' })
    expect(await publish(1_500_000, true)).toBe(202)
    expect(await publish(1_500_000)).toBe(202)
    // Uploads that wait for memory may have been refused by now.
    expect(held.some(({ seen }) => !seen.isAnswered)).toBe(true)
  })

  it.each([{ isChunked: false }, { isChunked: true }])(
    'two that trickle take nothing from a notice of 20 MB: %p',
    async ({ isChunked }) => {
      const held = await hold({ count: 2, bytes: LIMIT, sendBytes: 100_000, isChunked })
      await Promise.all(held.map((upload) => upload.sent()))
      expect(await publish(20_000_000)).toBe(202)
      expect(stillOpen()).toBe(true)
    },
  )
})
