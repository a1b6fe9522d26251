import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { startHarness, type Harness } from './support/harness.js'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ env: { WEBHOOKS_DRAIN_SECONDS: '7' } })
})
afterAll(() => harness.close())

it('a service that receives SIGTERM reports that it is not ready first, and keeps answering on both ports', async () => {
  const ask = async (url: string) => {
    const answer = await fetch(url)
    await answer.arrayBuffer()
    return [answer.status, answer.headers.get('connection')]
  }
  const all = () =>
    Promise.all(
      [
        `${harness.origin}/readyz`,
        `${harness.internal}/readyz`,
        `${harness.base}/.well-known/oauth-authorization-server`,
        `${harness.internal}/metrics`,
      ].map(ask),
    )
  // On a busy machine, PostgreSQL and Redis may take longer than the second in which they have to answer.
  await waitFor(async () =>
    (await all()).every(([status, connection]) => status === 200 && connection === 'keep-alive'),
  )
  const { drain } = harness.service
  drain?.begin()
  const [gone, last] = [
    [503, 'close'],
    [200, 'close'],
  ]
  expect(await all()).toEqual([gone, gone, last, last])
  expect(drain?.durationMs).toBe(7000)
})
