import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SIGNET } from '@signet/brand'
import { languages } from '@signet/language'
import { unusedKeys } from '@signet/language/checks'
import {
  accessibilityFindings,
  type Chromium,
  launchChromium,
  sidewaysScroll,
} from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import type { EndpointId, FailureReason } from '@signet/webhook-core'
import type { Page } from 'playwright-core'
import { explainFailure } from '../src/warnings/failure-advice.js'
import { warningCatalogues } from '../src/warnings/texts.js'
import { warningMail } from '../src/warnings/warning-mail.js'

const BRAND = {
  ...SIGNET,
  name: 'Müller & Söhne',
  accent: '#005f2f',
  support: 'help@example.com',
  privacyUrl: 'https://example.com/privacy?a=1&b=2',
}
const LINK = `https://hooks.example.com/portal/endpoints/42?${'long'.repeat(60)}`

const mailOf = (language: (typeof languages)[number], threshold: number, lastError: FailureReason) =>
  warningMail(
    {
      id: '0f8c1d2e-3b4a-4968-8778-6a5b4c3d2e1f',
      endpointId: '42' as EndpointId,
      accountId: '1f8c1d2e-3b4a-4968-8778-6a5b4c3d2e1f',
      url: `https://${'long'.repeat(12)}.example.com/${'path'.repeat(60)}?token=s3cret`,
      language: null,
      threshold,
      failures: threshold,
      lastError,
      failedAt: new Date('2026-01-02T03:04:05Z'),
      failingSince: new Date('2026-01-01T00:00:00Z'),
      attempts: 1,
      expired: false,
      resolved: false,
    },
    language,
    { brand: BRAND, manageUrl: () => LINK },
  )

describe('the texts of warnings', () => {
  it('are complete in every language', () => {
    expect(Object.keys(warningCatalogues.de)).toEqual(Object.keys(warningCatalogues.en))
    const fields = (text: string) => text.match(/\{\{ \.\w+ \}\}/g)?.sort()
    for (const [key, english] of Object.entries(warningCatalogues.en))
      expect([key, fields(warningCatalogues.de[key as keyof typeof warningCatalogues.de])]).toEqual([
        key,
        fields(english),
      ])
  })

  it('are all used', () => {
    const source = new URL('../src/warnings/', import.meta.url)
    const composed = ['what.', 'advice.', 'failing.', 'disabled.']
    expect(unusedKeys(Object.keys(warningCatalogues.en), source, composed)).toEqual([])
  })

  it.each<[FailureReason, string, string]>([
    ['http_503', 'er antwortete mit Status 503', 'Logs Ihres Empfängers'],
    ['http_301', 'er antwortete mit Status 301', 'Weiterleitungen wird nicht gefolgt'],
    ['http_404', 'er antwortete mit Status 404', 'Pfad seiner URL'],
    ['tls_error', 'TLS-Zertifikat', 'Kette'],
    ['recording_deleted', 'recording_deleted', 'Logs Ihres Empfängers'],
  ])('explain %s', (reason, what, advice) => {
    const explained = explainFailure('de', reason)
    expect([explained.what, explained.advice]).toEqual([
      expect.stringContaining(what),
      expect.stringContaining(advice),
    ])
  })
})

describeInBrowser('warnings in Chromium', () => {
  let browser: Chromium
  let page: Page
  const requests: string[] = []
  beforeAll(async () => {
    browser = await launchChromium()
    page = await browser.newPage()
    page.on('request', (request) => requests.push(request.url()))
  })
  afterAll(() => browser.close())

  const cases = [10, 20].flatMap((threshold) => languages.map((language) => [threshold, language] as const))
  it.each(cases)(
    'after %s failures (%s) are readable on every screen, and load nothing',
    async (threshold, language) => {
      const mail = mailOf(language, threshold, 'timeout')
      await page.setContent(mail.html)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const width of [320, 640]) {
          await page.setViewportSize({ width, height: 700 })
          expect([colorScheme, width, await sidewaysScroll(page)]).toEqual([colorScheme, width, 0])
        }
        // Structure does not change with the colors.
        const rules = colorScheme === 'dark' ? 'colors' : 'all'
        expect([colorScheme, await accessibilityFindings(page, rules)]).toEqual([colorScheme, []])
      }
      for (const body of [mail.html.replaceAll(/&(amp|#38);/g, '&'), mail.text]) {
        expect(body).toContain(LINK)
        expect(body).toContain(BRAND.name)
        expect(body).toContain(BRAND.privacyUrl)
        expect(body).not.toMatch(/s3cret|\{\{|undefined/)
      }
      expect(requests.filter((url) => !url.startsWith('about:'))).toEqual([])
    },
  )
})
