import { expect, it } from '@jest/globals'
import type { EndpointId } from '@signet/webhook-core'
import { BacklogCanceller } from './backlog-canceller.js'

it.each(Array.from({ length: 20 }, (_, count) => count))(
  'cancels for a request that comes %d microtasks after one that is soon done',
  async (microtasks) => {
    const asked: unknown[] = []
    const canceller = new BacklogCanceller({
      db: {
        query: (_text, values = []) => {
          asked.push(values[0])
          return Promise.resolve({ rows: [], rowCount: 0 })
        },
      },
      retryWhileUnavailable: (work) => work(),
      observer: { cancellingFailed: () => undefined },
    })
    const [first, second] = ['1', '2'] as EndpointId[] as [EndpointId, EndpointId]
    canceller.request(first)
    for (let done = 0; done < microtasks; done += 1) await Promise.resolve()
    canceller.request(second)
    await canceller.finished()
    expect(asked).toEqual([first, second])
  },
)
