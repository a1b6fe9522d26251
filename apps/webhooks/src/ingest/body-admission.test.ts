import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { BodySoFar } from '@signet/http'
import { freezeTimeouts } from '@signet/testkit'
import { BodyAdmission } from './body-admission.js'
import type { BodyMemoryOptions } from './body-memory.js'
import { MAX_BODY_BYTES, SMALL_BODY_BYTES } from './body-sizes.js'

const MIB = 1024 * 1024
const CHUNK = 64 * 1024
/** By default, no body waits long enough to be refused. */
const FOREVER = 2 ** 31 - 1
const ACCOUNTS = Array.from({ length: 10 }, (_, i) => `0b0f0f0f-0000-4000-8000-00000000000${i}`)

type Sender = {
  by?: string
  /** The account in the path. */
  account?: string
  /** What the body begins with. */
  head?: string
  /** If absent, the length of the body is unknown. */
  length?: number
}

/** Requests that end with their test, so that none keeps waiting. */
const requests: { leave(): void }[] = []
afterEach(() => {
  for (const request of requests.splice(0)) request.leave()
})

/** A route, and a function that makes requests to it and shows the state of each. */
function aRoute(options: BodyMemoryOptions = {}) {
  const admission = new BodyAdmission({ waitMs: FOREVER, finishMs: FOREVER, ...options })
  const handling: { end: () => void; fail: () => void }[] = []
  const handle = () =>
    new Promise<void>((resolve, reject) => {
      handling.push({ end: resolve, fail: () => reject(new Error('on purpose')) })
    })
  const made = admission.route({
    method: 'post',
    path: '/',
    docs: { operationId: 'x', summary: 'x', tag: 'x', responses: {} },
    body: { as: 'json-bytes', maxBytes: MAX_BODY_BYTES },
    handle,
  })

  const request = async ({ by = 'pipeline', account, head = '{', length }: Sender = {}) => {
    const onceGone: (() => void)[] = []
    const end = { isGone: false, onceGone: (act: () => void) => void onceGone.push(act) }
    const headers = length === undefined ? {} : { 'content-length': String(length) }
    const params = account === undefined ? {} : { account_id: account }
    const input = { caller: { name: by }, req: { headers, params }, context: { end } }
    await made.guard?.(input as never)
    const beginning = () => Buffer.from(head)
    const seen = {
      state: 'reading',
      arrived: 0,
      /** Sends this many more bytes, in chunks, or stops when it has to wait. */
      async send(bytes: number): Promise<string> {
        const until = seen.arrived + bytes
        while (seen.arrived < until && seen.state === 'reading') {
          seen.arrived = Math.min(seen.arrived + CHUNK, until)
          const refuse = (error: Error) => void (seen.state = String(error))
          const soFar = { end, bytes: seen.arrived, beginning, refuse } as unknown as BodySoFar
          const room = made.body?.makeRoom?.(soFar)
          if (room === undefined) continue
          seen.state = 'waiting'
          room.then(() => (seen.state = 'reading'), refuse)
          await turn()
        }
        return seen.state
      },
      leave() {
        end.isGone = true
        for (const act of onceGone.splice(0)) act()
      },
      /** Starts the handler, as if the body were complete. */
      async handle() {
        const at = handling.length
        const over = Promise.resolve(made.handle({ ...input, body: Buffer.alloc(0) } as never)).catch(
          () => undefined,
        )
        await turn()
        return {
          end: () => (handling[at]?.end(), over),
          fail: () => (handling[at]?.fail(), over),
        }
      },
    }
    requests.push(seen)
    return seen
  }
  /** Uploads of one sender, each of which sends all but its last byte, or stops when it has to wait. */
  const flood = async (sender: Sender, count = 30) => {
    const uploads = []
    for (let i = 0; i < count; i += 1) {
      const upload = await request({ length: 20 * MIB, ...sender })
      await upload.send(20 * MIB - 1)
      uploads.push(upload)
    }
    return uploads
  }
  return { request, flood }
}

describe('memory for large bodies', () => {
  it('is taken by what has arrived, not by what was declared', async () => {
    const { request } = aRoute()
    for (let i = 0; i < 100; i += 1) await (await request({ length: MAX_BODY_BYTES })).send(100_000)
    expect(await (await request({ length: MAX_BODY_BYTES })).send(MAX_BODY_BYTES)).toBe('reading')
  })

  it('is never more than the shared part and one of the largest bodies', async () => {
    const { request } = aRoute()
    const all = []
    for (const account of ACCOUNTS)
      for (const length of [MAX_BODY_BYTES, 3 * MIB, 500_000, undefined])
        for (let i = 0; i < 20; i += 1) {
          const upload = await request({ account, ...(length === undefined ? {} : { length }) })
          await upload.send(length ?? 10 * MIB)
          all.push(upload)
        }
    // The last chunk of a waiting body is not counted, and neither is a body that is still small.
    const counted = all.map(({ state, arrived }) => (state === 'waiting' ? arrived - CHUNK : arrived))
    const held = counted.reduce((sum, bytes) => sum + (bytes <= SMALL_BODY_BYTES ? 0 : bytes), 0)
    expect(held).toBeLessThanOrEqual((96 + 32) * MIB + CHUNK)
    expect(held).toBeGreaterThan(90 * MIB)
  })

  it('has room for a body of another account, whatever one account holds', async () => {
    const { request, flood } = aRoute()
    const uploads = await flood({ account: ACCOUNTS[0] })
    expect(uploads.at(-1)?.state).toBe('waiting')
    expect(await (await request({ account: ACCOUNTS[1], length: 20_000_000 })).send(20_000_000)).toBe(
      'reading',
    )
  })

  it.each<[string, Sender]>([
    ['in the path', { account: ACCOUNTS[1] }],
    ['at the beginning of the body', { head: `{"account_id":"${ACCOUNTS[1]}"` }],
  ])('knows the account %s', async (_, sender) => {
    const { request, flood } = aRoute()
    await flood({})
    expect(await (await request({ length: 20_000_000 })).send(20_000_000)).toBe('waiting')
    expect(await (await request({ ...sender, length: 20_000_000 })).send(20_000_000)).toBe('reading')
  })

  it('is shared by services where the account is unknown', async () => {
    const { request, flood } = aRoute()
    await flood({})
    expect(await (await request({ by: 'other', length: 20_000_000 })).send(20_000_000)).toBe('reading')
  })

  it.each([
    ['1.5 MB', 1_500_000],
    ['200 kB', 200_000],
  ])(
    'has room for a body of %s, however many larger ones of the same service came earlier',
    async (_, bytes) => {
      const { request, flood } = aRoute()
      await flood({})
      for (const account of ACCOUNTS) await flood({ account }, 4)
      expect(await (await request({ length: bytes })).send(bytes)).toBe('reading')
      expect(await (await request()).send(bytes)).toBe('reading')
    },
  )

  it('lets bodies finish one after another that are all half read', async () => {
    const { request } = aRoute({ sharedBytes: 10 * MIB })
    const uploads = []
    for (let i = 0; i < 6; i += 1) uploads.push(await request({ length: 20 * MIB, account: ACCOUNTS[i] }))
    while (uploads.some(({ state, arrived }) => state === 'reading' && arrived < 20 * MIB))
      for (const upload of uploads) await upload.send(Math.min(MIB, 20 * MIB - upload.arrived))
    const order = []
    while (order.length < uploads.length) {
      const done = uploads.filter(({ state, arrived }) => state === 'reading' && arrived === 20 * MIB)
      order.push(...done)
      for (const upload of done) {
        upload.state = 'done'
        upload.leave()
      }
      await turn()
      for (const upload of uploads) await upload.send(20 * MIB - upload.arrived)
    }
    expect(new Set(order)).toEqual(new Set(uploads))
  })

  it('is taken by turns', async () => {
    const { request, flood } = aRoute({ sharedBytes: 0 })
    const [first, second, third] = await flood({ account: ACCOUNTS[0] })
    const other = await request({ account: ACCOUNTS[1], length: 20 * MIB })
    await other.send(MIB)
    const states = () => [first, second, third, other].map((upload) => upload?.state)
    expect(states()).toEqual(['reading', 'waiting', 'waiting', 'waiting'])
    first?.leave()
    await turn()
    expect(states()).toEqual(['reading', 'reading', 'waiting', 'waiting'])
    second?.leave()
    await turn()
    expect(states()).toEqual(['reading', 'reading', 'waiting', 'reading'])
  })

  it('is refused to a body that has waited for too long', async () => {
    const frozen = freezeTimeouts()
    try {
      const { flood } = aRoute({ sharedBytes: 0, waitMs: 1000 })
      const [first, second] = await flood({}, 2)
      frozen.advance(999)
      await turn()
      expect(second?.state).toBe('waiting')
      frozen.advance(1)
      await turn()
      expect(second?.state).toContain('Too many large bodies')
      expect(first?.state).toBe('reading')
    } finally {
      frozen.thaw()
    }
  })

  it('is refused to a body that stalls where others wait to finish, and to no complete one', async () => {
    const frozen = freezeTimeouts()
    try {
      const { flood } = aRoute({ sharedBytes: 0, finishMs: 1000 })
      const [first, second] = await flood({}, 2)
      expect(first?.state).toBe('reading')
      frozen.advance(1000)
      await turn()
      expect(first?.state).toContain('Too many large bodies')
      first?.leave()
      await second?.handle()
      frozen.advance(1000)
      await turn()
      expect(second?.state).toBe('reading')
    } finally {
      frozen.thaw()
    }
  })

  it.each(['end', 'fail'] as const)(
    'is taken until the handling has come to its %s, also when the client has left',
    async (outcome) => {
      const { flood } = aRoute({ sharedBytes: 0 })
      const [first, second] = await flood({}, 2)
      const handling = await first?.handle()
      first?.leave()
      await turn()
      expect(second?.state).toBe('waiting')
      await handling?.[outcome]()
      expect(second?.state).toBe('reading')
    },
  )

  it('is taken until the answer has left, also when the handling has ended', async () => {
    const { flood } = aRoute({ sharedBytes: 0 })
    const [first, second] = await flood({}, 2)
    await (await first?.handle())?.end()
    expect(second?.state).toBe('waiting')
    first?.leave()
    await turn()
    expect(second?.state).toBe('reading')
  })

  it('goes to the next one if a client leaves while it waits', async () => {
    const { flood } = aRoute({ sharedBytes: 0 })
    const [first, leaving, last] = await flood({}, 3)
    leaving?.leave()
    first?.leave()
    await turn()
    expect(last?.state).toBe('reading')
  })

  it('is not needed for a small body', async () => {
    const { request, flood } = aRoute({ sharedBytes: 0 })
    await flood({}, 2)
    const small = await request()
    expect(await small.send(SMALL_BODY_BYTES)).toBe('reading')
    await (await small.handle()).end()
    expect(await small.send(1)).toBe('waiting')
  })
})
