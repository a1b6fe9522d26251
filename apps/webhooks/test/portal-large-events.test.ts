import { expect, it } from '@jest/globals'
import { aDelivery, anEndpoint, aVisitor } from './support/portal.js'
import { receivedDuring } from './support/queries.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })

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
