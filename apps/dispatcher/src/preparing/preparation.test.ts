import { expect, it } from '@jest/globals'
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
      hasRoomFor: () => false,
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
