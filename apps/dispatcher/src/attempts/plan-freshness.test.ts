import { expect, it } from '@jest/globals'
import type { EndpointId } from '@signet/webhook-core'
import { PlanFreshness } from './plan-freshness.js'

const [one, other] = ['1', '2'] as unknown as [EndpointId, EndpointId]

it('accepts a plan for a moment, unless it was read before its endpoint was stopped', () => {
  let now = 1000
  const plans = new PlanFreshness(() => now)
  expect(plans.isFresh(one, 900)).toBe(true)
  expect(plans.isFresh(one, 799)).toBe(false)
  plans.endpointStopped(one)
  now = 1100
  expect(plans.isFresh(one, 1000)).toBe(false)
  expect(plans.isFresh(one, 1050)).toBe(true)
  expect(plans.isFresh(other, 1000)).toBe(true)
})

it('remembers the latest time of an endpoint that was stopped twice', () => {
  let now = 1000
  const plans = new PlanFreshness(() => now)
  plans.endpointStopped(one)
  now = 1150
  plans.endpointStopped(other)
  plans.endpointStopped(one)
  now = 1250
  plans.endpointStopped(other)
  expect(plans.isFresh(one, 1140)).toBe(false)
  expect(plans.isFresh(one, 1160)).toBe(true)
})
