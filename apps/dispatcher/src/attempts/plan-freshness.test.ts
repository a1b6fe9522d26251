import { expect, it } from '@jest/globals'
import { type EndpointId } from '@signet/webhook-core'
import { PlanFreshness } from './plan-freshness.js'

const [one, other] = ['1', '2'] as unknown as [EndpointId, EndpointId]

it('calls a plan fresh for a moment, and none that was read before its endpoint was out', () => {
  let now = 1000
  const plans = new PlanFreshness(() => now)
  expect(plans.isFresh(one, 900)).toBe(true)
  expect(plans.isFresh(one, 799)).toBe(false)
  plans.endpointIsOut(one)
  now = 1100
  expect(plans.isFresh(one, 1000)).toBe(false)
  expect(plans.isFresh(one, 1050)).toBe(true)
  expect(plans.isFresh(other, 1000)).toBe(true)
})

it('still knows the latest time of an endpoint that was out twice', () => {
  let now = 1000
  const plans = new PlanFreshness(() => now)
  plans.endpointIsOut(one)
  now = 1150
  plans.endpointIsOut(other)
  plans.endpointIsOut(one)
  now = 1250
  plans.endpointIsOut(other)
  expect(plans.isFresh(one, 1140)).toBe(false)
  expect(plans.isFresh(one, 1160)).toBe(true)
})
