import { expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import type { EventId } from '@signet/webhook-core'
import { Preparation, type PreparationOptions } from './preparation.js'

const event = {
  id: 'evt_1' as EventId,
  accountId: 'a',
  type: 'summary.completed' as const,
  audioId: 'rec_1',
  targetEndpointId: null,
  createdAt: new Date(),
}

/** Prepares a recording while no more conversions may wait, and counts how often it is read. */
async function prepare(format: string, options: PreparationOptions) {
  let reads = 0
  const preparation = new Preparation({
    parts: {
      measure: () => Promise.resolve(100),
      read: () => {
        reads += 1
        return Promise.resolve({
          recording: null,
          transcript: null,
          summaries: [{ label: 'Summary', content: '<p>Hi</p>', format }],
        })
      },
    },
    conversions: {
      mayWait: () => false,
      deferMs: () => 700,
      convertAll: () => Promise.reject(new Error()),
    },
  })
  return { outcome: await preparation.run(event, options, () => Promise.resolve('used')), reads }
}

const DEFERRED = { deferMs: 700, reason: 'conversions_full' }

it('lets no event without HTML wait for the conversions of others, also when it was deferred for its account', async () => {
  expect(await prepare('markdown', {})).toEqual({ outcome: 'used', reads: 1 })
  expect(await prepare('markdown', { deferredFor: 'account_full' })).toEqual({ outcome: 'used', reads: 1 })
})

it('does not read HTML again that there is still no room for', async () => {
  expect(await prepare('html', {})).toEqual({ outcome: DEFERRED, reads: 1 })
  expect(await prepare('html', { deferredFor: 'conversions_full' })).toEqual({ outcome: DEFERRED, reads: 0 })
})

it('holds the content of a limited number of events in memory, and leaves room for other accounts', async () => {
  const started: string[] = []
  const ends: (() => void)[] = []
  const preparation = new Preparation({
    parts: {
      measure: () => Promise.resolve(100),
      read: () => Promise.resolve({ recording: null, transcript: null, summaries: [] }),
    },
    conversions: { mayWait: () => true, deferMs: () => 0, convertAll: () => Promise.reject(new Error()) },
  })
  const send = (accountId: string) =>
    preparation.run({ ...event, accountId }, {}, () => {
      started.push(accountId)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
  const all = [...Array.from({ length: 200 }, () => send('flooding')), send('other')]
  await turn()
  expect(started.filter((accountId) => accountId === 'flooding')).toHaveLength(96)
  expect(started).toContain('other')
  while (ends.length > 0) {
    ends.splice(0).forEach((end) => end())
    await turn()
  }
  await Promise.all(all)
  expect(started).toHaveLength(201)
})
