import { afterAll, beforeAll } from '@jest/globals'
import { startHarness, type Harness, type HarnessOptions } from './harness.js'
import { OAuthTester } from './oauth.js'

/** The service of {@link startHarness} for the tests of a file, and a tester for its OAuth endpoints. */
export function useOAuth(options: HarnessOptions = {}): { harness: Harness; oauth: OAuthTester } {
  let started: Harness | undefined
  beforeAll(async () => {
    started = await startHarness(options)
  })
  afterAll(() => started?.close())
  // Stands in for the harness until it has started, so that test files can use one constant for it.
  const harness = new Proxy({} as Harness, {
    get(_, member): unknown {
      if (started === undefined) throw new Error('the service is there from beforeAll on')
      return Reflect.get(started, member)
    },
  })
  return { harness, oauth: new OAuthTester(harness) }
}
