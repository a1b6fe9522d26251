import { expect, it } from '@jest/globals'
import type { EndpointId } from '@signet/webhook-core'
import { FRESH_MS, SnapshotFreshness } from './snapshot-freshness.js'

const [one, other] = ['1', '2'] as unknown as [EndpointId, EndpointId]

it('accepts a snapshot for a moment, unless it was read before its endpoint was stopped', () => {
  let now = 1000
  const snapshots = new SnapshotFreshness(FRESH_MS, () => now)
  expect(snapshots.isFresh(one, 900)).toBe(true)
  expect(snapshots.isFresh(one, 799)).toBe(false)
  snapshots.endpointStopped(one)
  now = 1100
  expect(snapshots.isFresh(one, 1000)).toBe(false)
  expect(snapshots.isFresh(one, 1050)).toBe(true)
  expect(snapshots.isFresh(other, 1000)).toBe(true)
})

it('remembers the latest time of an endpoint that was stopped twice', () => {
  let now = 1000
  const snapshots = new SnapshotFreshness(FRESH_MS, () => now)
  snapshots.endpointStopped(one)
  now = 1150
  snapshots.endpointStopped(other)
  snapshots.endpointStopped(one)
  now = 1250
  snapshots.endpointStopped(other)
  expect(snapshots.isFresh(one, 1140)).toBe(false)
  expect(snapshots.isFresh(one, 1160)).toBe(true)
})
