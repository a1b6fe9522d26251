import { expect, it } from '@jest/globals'
import { startHarness } from './support/harness.js'

it('is closed once, however often it is asked to', async () => {
  const harness = await startHarness()
  const closed = harness.close()
  expect(harness.close()).toBe(closed)
  await closed
})
