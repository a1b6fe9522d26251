import { afterAll, beforeAll } from '@jest/globals'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import type { Page } from 'playwright-core'
import type { Harness, HarnessOptions } from './harness.js'
import type { OAuthTester } from './oauth.js'
import { useOAuth } from './use-oauth.js'

type Opened = {
  harness: Harness
  oauth: OAuthTester
  /** Usable from the first `beforeAll` on. */
  browser: () => Chromium
}

/** Tests of pages in a real browser. Where there is none, a message says so, and the tests are skipped. */
export function describeInChromium(
  name: string,
  env: NonNullable<HarnessOptions['env']>,
  tests: (opened: Opened) => void,
): void {
  describeInBrowser(name, () => {
    const { harness, oauth } = useOAuth({ env })
    let browser: Chromium
    beforeAll(async () => {
      browser = await launchChromium()
    })
    afterAll(() => browser?.close())
    tests({ harness, oauth, browser: () => browser })
  })
}

/** Signs in on the sign-in page of the identity double. */
export async function signInHere(page: Page, { email, password }: { email: string; password: string }) {
  await page.fill('#identifier', email)
  await page.fill('#password', password)
  await page.click('button:text-is("Sign in")')
}
