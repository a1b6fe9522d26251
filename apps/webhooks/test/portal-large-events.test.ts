import { gzipSync } from 'node:zlib'
import { expect, it } from '@jest/globals'
import type { DeliveryId } from '@signet/webhook-core'
import { deliveryHeaders } from '@signet/webhook-core/signature'
import { aDelivery, anEndpoint, aVisitor, sent } from './support/portal.js'
import { receivedDuring } from './support/queries.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({
  env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true', WEBHOOKS_RATE_LIMITS_ENABLED: 'true' },
})

const LENGTH = 5 * 1024 * 1024
const body = (length: number) =>
  JSON.stringify({ id: 'evt_x', type: 'summary.completed', data: { title: 'é'.repeat(length) } })

/** A visitor with a delivery of an event whose body has about `length` characters. */
async function aVisitorWith(length: number) {
  const visitor = await aVisitor({ harness, oauth })
  const { id } = await anEndpoint(visitor)
  const delivery = await aDelivery(harness, id, { body: body(length) })
  return { ...visitor, page: `/endpoints/${id}/deliveries/${delivery.id}` }
}

it('shows the beginning of a large event, and reads no more of it', async () => {
  const { open, page } = await aVisitorWith(LENGTH)
  const pages: string[] = []
  const received = await receivedDuring(harness.db, async () => {
    for (const path of [page, '/events']) {
      const { status, text } = await open(path)
      expect(status).toBe(200)
      pages.push(text)
    }
  })
  expect(received).toBeLessThan(500_000)
  for (const text of pages) {
    expect(text).toContain('&#34;title&#34;:&#34;ééé')
    expect(text.length).toBeLessThan(100_000)
  }
  expect(pages[0]).toContain(`The first 50000 characters of ${Buffer.byteLength(body(LENGTH))} bytes.`)
})

it('shows the whole of a small event, in lines on the page of samples', async () => {
  const { open, page } = await aVisitorWith(3)
  const { text } = await open(page)
  expect(text).toContain('&#34;title&#34;:&#34;ééé&#34;}}</pre>')
  expect(text).not.toContain('characters of')
  expect((await open('/events')).text).toContain('    &#34;title&#34;: &#34;ééé&#34;\n')
})

it('checks the signatures of a large event, which the result does not repeat', async () => {
  const { browser, open } = await aVisitor({ harness, oauth })
  const secret = `whsec_${'A'.repeat(43)}=`
  const headers = deliveryHeaders({
    secret,
    body: body(200_000),
    timestamp: Math.floor(Date.now() / 1000),
    eventType: 'summary.completed',
    eventId: `evt_${'0'.repeat(32)}`,
    deliveryId: '1' as DeliveryId,
  })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const fields = { secret, headers: lines.join('\n'), body: body(200_000) }
  const { status, text } = await sent(browser, await open('/signatures'), '/signatures', fields)
  expect([status, text.match(/: valid\./g)?.length, text.includes('ééé')]).toEqual([200, 2, false])
  expect(text).toContain('too long to be shown again')
  expect(text).toContain('x-service-timestamp: ')
})

it('reads no large form of somebody who is not signed in, also where it is compressed', async () => {
  const answer = await oauth.browser().post('/portal/signatures', { body: body(20_000) })
  expect([answer.status, answer.text.includes('You are signed out')]).toEqual([403, true])
  const { status } = await fetch(`${harness.base}/portal/signatures`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' },
    body: gzipSync(`body=${'a'.repeat(1_000_000)}`),
    redirect: 'manual',
  })
  expect(status).toBe(403)
})

it('reads two large forms of a person at a time', async () => {
  const { user, browser } = await aVisitor({ harness, oauth })
  const ends: (() => void)[] = []
  const others = { isGone: false, onceGone: (act: () => void) => void ends.push(act) }
  const { forms } = harness.ctx.limits
  forms.admit(user.id, others)
  forms.admit(user.id, others)
  const another = async () => (await browser.post('/portal/signatures', { body: body(20_000) })).status
  expect(await another()).toBe(429)
  ends[0]?.()
  // It is read, and then lacks the token of the form.
  expect(await another()).toBe(403)
})
