import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { OAuthTester } from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'

describe('the providers of the sign-in page', () => {
  let harness: Harness
  let time: number
  beforeEach(async () => {
    time = Date.now()
    harness = await startHarness({
      env: { WEBHOOKS_SIGN_IN_PROVIDERS: 'github,google' },
      now: () => new Date(time),
    })
  })
  afterEach(() => harness.close())

  async function offered(): Promise<string[]> {
    const oauth = new OAuthTester(harness)
    const { status, text } = await oauth.browser().get(oauth.authorizeUrl((await oauth.client()).client_id))
    expect(status).toBe(200)
    return [...text.matchAll(/Continue with (\w+)/g)].map(([, name = '']) => name)
  }
  const questions = () => harness.identity.asked.filter(({ path }) => path === '/settings').length

  it('are those of the settings that the identity server has not switched off', async () => {
    harness.identity.setExternal({ github: true, google: false, gitlab: true })
    expect(await offered()).toEqual(['GitHub'])
  })

  it('are asked for once a minute, by many pages at once', async () => {
    harness.identity.setExternal({ github: false })
    const pages = await Promise.all(Array.from({ length: 5 }, offered))
    expect(pages).toEqual(Array.from({ length: 5 }, () => ['Google']))
    harness.identity.setExternal({ github: true })
    time += 59_999
    expect(await offered()).toEqual(['Google'])
    expect(questions()).toBe(1)
    time += 1
    expect(await offered()).toEqual(['GitHub', 'Google'])
    expect(questions()).toBe(2)
  })

  it.each([
    ['is down', () => harness.identity.failWith({ status: 503 })],
    ['takes no more requests', () => harness.identity.failWith({ status: 429 })],
    ['knows no settings', () => harness.identity.failWith({ status: 404 })],
    ['answers in another form', () => harness.identity.setExternal(['github'] as never)],
  ])('are all of the settings while the identity server %s', async (_, fail) => {
    fail()
    expect(await offered()).toEqual(['GitHub', 'Google'])
  })

  it('are all of the settings while the identity server hangs, which delays one page by a second', async () => {
    harness.identity.failWith({ status: 200, hang: true })
    const startedAt = performance.now()
    expect(await offered()).toEqual(['GitHub', 'Google'])
    expect(performance.now() - startedAt).toBeLessThan(4000)
    await offered()
    expect(questions()).toBe(1)
  })
})
