import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Request } from 'express'
import { BodyAdmission, type BodyAdmissionOptions } from './body-admission.js'
import { MAX_BODY_BYTES, SMALL_BODY_BYTES } from './body-sizes.js'

const MIB = 1024 * 1024
/** No test refuses a body unless it says so. */
const FOREVER = 2 ** 31 - 1

const ofLength = (bytes: number) => ({ 'content-length': String(bytes) })

/** All windows, so that none is waiting when its test ends. */
const requests: { leave(): void }[] = []
afterEach(() => {
  for (const request of requests.splice(0)) request.leave()
})

/** Requests to a route, and what has become of each. */
function aRoute(options: BodyAdmissionOptions) {
  const admission = new BodyAdmission({ waitMs: FOREVER, ...options })
  const handling: { end: () => void; fail: () => void }[] = []
  const handle = () =>
    new Promise<void>((resolve, reject) => {
      handling.push({ end: resolve, fail: () => reject(new Error('on purpose')) })
    })
  const made = admission.route({
    method: 'post',
    path: '/',
    docs: { operationId: 'x', summary: 'x', tag: 'x', responses: {} },
    handle,
  })

  /** `state` is `waiting` until its body may be read. */
  const request = (
    headers: Record<string, string | undefined>,
    { by = 'pipeline', isGone = false }: { by?: string; isGone?: boolean } = {},
  ) => {
    const onceGone: (() => void)[] = []
    const end = { isGone, onceGone: (act: () => void) => void onceGone.push(act) }
    const input = { caller: { name: by }, req: { headers } as unknown as Request, context: { end } }
    const seen = {
      state: 'waiting',
      leave() {
        end.isGone = true
        for (const act of onceGone) act()
      },
      /** Its body is there. */
      async handle(bytes: number) {
        const at = handling.length
        const over = Promise.resolve(made.handle({ ...input, body: Buffer.alloc(bytes) } as never)).catch(
          () => undefined,
        )
        await turn()
        return {
          end: () => (handling[at]?.end(), over),
          fail: () => (handling[at]?.fail(), over),
        }
      },
    }
    Promise.resolve(made.guard?.(input as never)).then(
      () => (seen.state = 'admitted'),
      (error: unknown) => (seen.state = String(error)),
    )
    requests.push(seen)
    return seen
  }
  /** The states of these requests, after what has just happened has taken effect. */
  const states = async (...requests: { state: string }[]) => {
    await turn()
    return requests.map(({ state }) => state)
  }
  return { request, states }
}

describe('large bodies', () => {
  it.each([
    ['ordinary', 0.6, 0.4],
    ['huge', 6, 4],
  ])('wait unread while others are in memory: %s', async (_, one, another) => {
    const { request, states } = aRoute({ windowBytes: (one + another) * MIB })
    const first = request(ofLength(one * MIB))
    const second = request(ofLength(another * MIB))
    const third = request(ofLength(another * MIB))
    expect(await states(first, second, third)).toEqual(['admitted', 'admitted', 'waiting'])
    second.leave()
    expect(await states(third)).toEqual(['admitted'])
  })

  it.each(['end', 'fail'] as const)(
    'count until their handling has come to its %s, also when their client has left',
    async (outcome) => {
      const { request, states } = aRoute({ windowBytes: 10 * MIB })
      const first = request(ofLength(10 * MIB))
      await states(first)
      const handling = await first.handle(10 * MIB)
      first.leave()
      const second = request(ofLength(10 * MIB))
      expect(await states(second)).toEqual(['waiting'])
      await handling[outcome]()
      expect(await states(second)).toEqual(['admitted'])
    },
  )

  it('count until their answer has left, also when their handling has ended', async () => {
    const { request, states } = aRoute({ windowBytes: 10 * MIB })
    const first = request(ofLength(10 * MIB))
    await states(first)
    await (await first.handle(10 * MIB)).end()
    const second = request(ofLength(10 * MIB))
    expect(await states(second)).toEqual(['waiting'])
    first.leave()
    expect(await states(second)).toEqual(['admitted'])
  })

  it('of one caller make another one wait for a turn and not for all of them', async () => {
    const { request, states } = aRoute({ windowBytes: 10 * MIB })
    const [first, ...rest] = Array.from({ length: 5 }, () => request(ofLength(10 * MIB), { by: 'import' }))
    const notice = request(ofLength(10 * MIB))
    await states()
    first?.leave()
    expect(await states(...rest, notice)).toEqual(['admitted', 'waiting', 'waiting', 'waiting', 'waiting'])
    rest[0]?.leave()
    expect(await states(...rest, notice)).toEqual(['admitted', 'waiting', 'waiting', 'waiting', 'admitted'])
  })

  it('are not overtaken by others that need less', async () => {
    const { request, states } = aRoute({ windowBytes: 10 * MIB })
    const first = request(ofLength(6 * MIB))
    const largest = request(ofLength(10 * MIB))
    const small = request(ofLength(2 * MIB))
    expect(await states(first, largest, small)).toEqual(['admitted', 'waiting', 'waiting'])
    largest.leave()
    expect(await states(small)).toEqual(['admitted'])
  })

  it('of over a megabyte make ordinary ones wait for nothing', async () => {
    const { request, states } = aRoute({ windowBytes: MAX_BODY_BYTES })
    const huge = Array.from({ length: 20 }, () => request(ofLength(MAX_BODY_BYTES)))
    const ordinary = Array.from({ length: 100 }, () => request(ofLength(200_000)))
    expect(new Set(await states(...ordinary))).toEqual(new Set(['admitted']))
    expect(await states(...huge)).toContain('waiting')
  })

  it('are refused when they have waited for too long', async () => {
    const { request, states } = aRoute({ windowBytes: 10 * MIB, waitMs: 1 })
    const first = request(ofLength(10 * MIB))
    const second = request(ofLength(10 * MIB))
    while (second.state === 'waiting') await turn()
    expect(second.state).toContain('Too many large bodies')
    first.leave()
    expect(await states(request(ofLength(10 * MIB)))).toEqual(['admitted'])
  })

  it('take nothing for a client that has left, or leaves while it waits', async () => {
    const { request, states } = aRoute({ windowBytes: 10 * MIB })
    await states(request(ofLength(10 * MIB), { isGone: true }))
    const first = request(ofLength(10 * MIB))
    const leaving = request(ofLength(10 * MIB))
    const last = request(ofLength(10 * MIB))
    expect(await states(first, leaving)).toEqual(['admitted', 'waiting'])
    leaving.leave()
    first.leave()
    expect(await states(last)).toEqual(['admitted'])
  })
})

describe('a body of unknown size', () => {
  it.each([
    { 'transfer-encoding': 'chunked' },
    { 'content-length': '10', 'content-encoding': 'gzip' },
    { 'content-length': String(10 * MAX_BODY_BYTES) },
  ])('counts as the largest until it is there: %p', async (headers) => {
    const { request, states } = aRoute({ windowBytes: MAX_BODY_BYTES })
    const unknown = request(headers)
    const other = request(ofLength(2 * MIB))
    expect(await states(unknown, other)).toEqual(['admitted', 'waiting'])
    await unknown.handle(1000)
    expect(await states(other)).toEqual(['admitted'])
  })
})

it('admits two of the largest and hundreds of ordinary ones at a time', async () => {
  const { request, states } = aRoute({})
  const largest = Array.from({ length: 3 }, () => request(ofLength(MAX_BODY_BYTES)))
  const ordinary = Array.from({ length: 300 }, () => request(ofLength(200_000)))
  expect(await states(...largest)).toEqual(['admitted', 'admitted', 'waiting'])
  expect(new Set(await states(...ordinary))).toEqual(new Set(['admitted']))
})

it.each([ofLength(SMALL_BODY_BYTES), {}])('makes no small body wait: %p', async (headers) => {
  const { request, states } = aRoute({ windowBytes: 0 })
  expect(await states(request(headers))).toEqual(['admitted'])
})
