import { describe, expect, it } from '@jest/globals'
import { aDelivery, anEndpoint, aVisitor, sent } from './support/portal.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })
const visitor = () => aVisitor({ harness, oauth })

describe('the delivery log', () => {
  it('is filtered and paged, and shows each attempt and what was sent', async () => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    for (let count = 0; count < 25; count += 1) await aDelivery(harness, id)
    const failed = await aDelivery(harness, id, {
      status: 2,
      answer: 'please retry',
      body: '{"title":"Zoë"}',
    })
    const log = await visit.open(
      `/endpoints/${id}/deliveries?status=&event_type=summary.completed&range=day&event_id=`,
    )
    expect(log.text.match(/<tr /g)).toHaveLength(21)
    const [, older = ''] = /href="([^"]*cursor=[^"]*)"/.exec(log.text) ?? []
    const next = await visit.browser.get(older.replaceAll('&#38;', '&'))
    expect([next.status, next.text.match(/<tr /g)?.length]).toEqual([200, 7])
    const only = await visit.open(`/endpoints/${id}/deliveries?status=2`)
    expect(only.text.match(/<tr /g)).toHaveLength(2)
    expect(only.text).toContain('it responded with 503')
    const pasted = await visit.open(`/endpoints/${id}/deliveries?event_id=+${failed.eventId}%09+`)
    expect([pasted.status, pasted.text.match(/<tr /g)?.length]).toEqual([200, 2])
    const page = await visit.open(`/endpoints/${id}/deliveries/${failed.id}`)
    for (const text of [
      'please retry',
      '{&#34;title&#34;:&#34;Zoë&#34;}',
      '203.0.113.9',
      'first byte after 30 ms',
      failed.eventId,
    ])
      expect(page.text).toContain(text)
    const replayed = await visit.browser.follow(await visit.browser.submit(page, '/replay'))
    expect(replayed.text).toContain('on its way again')
    const again = await visit.open(`/endpoints/${id}/deliveries/${failed.id}`)
    const twice = await sent(visit.browser, again, '/replay')
    expect(twice.status).toBe(409)
  })

  it('says what was wrong with a certificate, and no more than that about a cause it does not know', async () => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    const failed = await aDelivery(harness, id, { status: 2 })
    const shownWith = async (problem: string) => {
      await harness.db.query(
        `update webhook_attempts set error = 'tls_error', exchange = jsonb_build_object('tls_problem', $2::text)
         where delivery_id = $1`,
        [failed.id, problem],
      )
      return (await visit.open(`/endpoints/${id}/deliveries/${failed.id}`)).text
    }
    expect(await shownWith('certificate_expired')).toContain(
      'Failed: the certificate has expired (<code>certificate_expired</code>)',
    )
    expect(await shownWith('from_the_next_version')).toContain(
      'Failed: the certificate or the TLS handshake failed (<code>from_the_next_version</code>)',
    )
  })

  it.each(['status=9', 'cursor=x', 'event_id=x'])('refuses %s as a page with a way back', async (query) => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    const page = await visit.open(`/endpoints/${id}/deliveries?${query}`)
    expect([page.status, page.text.includes('Back')]).toEqual([400, true])
  })
})

it('recovers what failed, with progress, one at a time', async () => {
  const visit = await visitor()
  const { browser, open } = visit
  const { id } = await anEndpoint(visit)
  await aDelivery(harness, id, { status: 2 })
  await aDelivery(harness, id)
  const form = await open(`/endpoints/${id}/recover`)
  const progress = await sent(browser, form, '/recover', { hours: '24', what: 'failed' })
  expect(progress.text).toMatch(/<strong>1<\/strong> events matched/)
  expect(progress.text).toMatch(/<div data-live>[^]*As of\s+<time[^]*>Refresh</)
  const again = await open(`/endpoints/${id}/recover`)
  const second = await sent(browser, again, '/recover', { hours: '24', what: 'failed' })
  expect([second.status, second.text.includes('is running')]).toEqual([409, true])
  const otherTab = await browser.get(progress.url)
  expect((await sent(browser, progress, '/stop')).text).toContain('Stopped by you')
  const late = await sent(browser, otherTab, '/stop')
  expect([late.status, late.text]).toEqual([
    409,
    expect.stringContaining('The recovery has ended: it was stopped.'),
  ])
})
