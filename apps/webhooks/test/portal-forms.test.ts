import { describe, expect, it } from '@jest/globals'
import { formOf, type Seen } from '@signet/testkit'
import { aDelivery, anEndpoint, aVisitor, sent } from './support/portal.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })
const visitor = () => aVisitor({ harness, oauth })
type Visitor = Awaited<ReturnType<typeof visitor>>

const countOf = async (table: string, { user }: Visitor): Promise<number> => {
  const { rows } = await harness.db.query<{ count: number }>(
    `select count(*)::int as count from ${table} where account_id = $1`,
    [user.id],
  )
  return rows[0]?.count ?? -1
}
const handovers = async () => {
  const { rows } = await harness.db.query<{ ciphertext: Buffer }>('select ciphertext from page_handovers')
  return rows.map(({ ciphertext }) => ciphertext)
}
const submissionsOf = async ({ user }: Visitor) => {
  const { rows } = await harness.db.query<{ ciphertext: Buffer }>(
    `select p.ciphertext from page_submissions p join login_sessions s on s.id_hash = p.session_hash
     where s.account_id = $1`,
    [user.id],
  )
  return rows
}
const reloaded = ({ browser }: Visitor, page: Seen) => browser.get(page.url)
const SECRET = /whsec_[A-Za-z0-9+/=]{40,}/

describe('the page that a form leads to', () => {
  it('shows a secret once; a reload makes no second endpoint and shows nothing', async () => {
    const visit = await visitor()
    const { page } = await anEndpoint(visit)
    expect(page.text).toMatch(SECRET)
    const again = await reloaded(visit, page)
    expect([again.status, SECRET.test(again.text), await countOf('webhook_endpoints', visit)]).toEqual([
      200,
      false,
      1,
    ])
    expect(again.text).toContain('was already shown')
  })

  it('shows a new token once', async () => {
    const visit = await visitor()
    const form = await visit.open('/tokens')
    const fields = { name: 'nightly', days: '30' }
    const page = await sent(visit.browser, form, '/tokens', fields)
    expect(page.text).toMatch(/svp_\w{30,}/)
    expect((await reloaded(visit, page)).text).not.toMatch(/svp_\w{30,}/)
    expect(await countOf('personal_tokens', visit)).toBe(1)
  })

  it('shows a secret to one of many who open it at once', async () => {
    const visit = await visitor()
    const answer = await visit.browser.submit(await visit.open('/endpoints/new'), '/portal/endpoints', {
      url: 'https://127.0.0.1/once',
      events: 'summary.completed',
    })
    const pages = await Promise.all(Array.from({ length: 8 }, () => visit.browser.follow(answer)))
    expect(pages.filter(({ text }) => SECRET.test(text))).toHaveLength(1)
  })

  it('shows nothing to another person, to a session after its time, or to one under another account', async () => {
    const [mine, theirs] = [await visitor(), await visitor()]
    const secretPage = async () =>
      mine.browser.submit(await mine.open('/endpoints/new'), '/portal/endpoints', {
        url: 'https://127.0.0.1/mine',
        events: 'summary.completed',
      })
    const first = await secretPage()
    expect((await theirs.browser.get(first.location ?? '')).text).not.toMatch(SECRET)
    await harness.db.query(`update page_handovers set expires_at = now() - interval '1 second'`)
    expect((await mine.browser.follow(first)).text).not.toMatch(SECRET)
    const second = await secretPage()
    await harness.db.query(
      `update login_sessions set account_id = $2, csrf_key = csrf_key where account_id = $1`,
      [mine.user.id, theirs.user.id],
    )
    expect((await mine.browser.follow(second)).text).not.toMatch(SECRET)
  })

  it('is stored sealed, and gone once it was opened', async () => {
    const visit = await visitor()
    await harness.db.query('delete from page_handovers')
    const answer = await visit.browser.submit(await visit.open('/endpoints/new'), '/portal/endpoints', {
      url: 'https://127.0.0.1/sealed',
      events: 'summary.completed',
    })
    const [row] = await handovers()
    expect(row?.length).toBeGreaterThan(40)
    expect(row?.toString('latin1')).not.toContain('whsec_')
    await visit.browser.follow(answer)
    expect(await handovers()).toEqual([])
  })

  it('is removed when nobody opened it in time', async () => {
    const visit = await visitor()
    await visit.browser.submit(await visit.open('/tokens'), '/tokens', { name: 'x', days: '3' })
    await harness.ctx.cleanup.runHourly()
    expect(await handovers()).toHaveLength(1)
    await harness.db.query(`update page_handovers set expires_at = now() - interval '1 second'`)
    await harness.ctx.cleanup.runHourly()
    expect(await handovers()).toEqual([])
  })

  it('keeps what it shows if only its headers are requested before', async () => {
    const { browser, open } = await visitor()
    const fields = { name: 'headers first', days: '30' }
    const { location } = await browser.submit(await open('/tokens'), '/tokens', fields)
    const cookie = `signet_session=${browser.cookies.get('signet_session') ?? ''}`
    await fetch(`${harness.base}${location ?? ''}`, { method: 'HEAD', headers: { cookie } })
    expect((await browser.get(location ?? '')).text).toContain('svp_')
  })
})

describe('a button that is pressed twice', () => {
  const fields = { url: 'https://127.0.0.1/twice', events: 'summary.completed' }
  const press = ({ browser }: Visitor, page: Seen, action: string, more = {}) =>
    browser.submit(page, action, more)

  it('does its work once: every press gets the result of the first', async () => {
    const visit = await visitor()
    const page = await visit.open('/endpoints/new')
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => press(visit, page, '/portal/endpoints', fields)),
    )
    expect(await countOf('webhook_endpoints', visit)).toBe(1)
    const pages = await Promise.all(answers.map((answer) => visit.browser.follow(answer)))
    const secrets = pages.map(({ text }) => SECRET.exec(text.replaceAll('&#43;', '+'))?.[0])
    expect(secrets[0]).toMatch(SECRET)
    expect(new Set(secrets).size).toBe(1)
  })

  it('sends one test event, makes one token, starts one recovery and replays once', async () => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    const failed = await aDelivery(harness, id, { status: 2 })
    const own = `/endpoints/${id}`
    const twice = async (below: string, action: string, more = {}) => {
      const page = await visit.open(below)
      const both = await Promise.all([press(visit, page, action, more), press(visit, page, action, more)])
      expect(both.map(({ status }) => status)).toEqual([303, 303])
    }
    const events = await countOf('webhook_events', visit)
    await twice(own, '/test')
    expect(await countOf('webhook_events', visit)).toBe(events + 1)
    await twice('/tokens', '/tokens', { name: 'twice', days: '30' })
    expect(await countOf('personal_tokens', visit)).toBe(1)
    await twice(`${own}/deliveries/${failed.id}`, '/replay')
    const { rows } = await harness.db.query('select 1 from webhook_deliveries where event_id = $1', [
      failed.eventId,
    ])
    expect(rows).toHaveLength(2)
  })

  it('gets the page again later, without what is shown once', async () => {
    const visit = await visitor()
    const page = await visit.open('/endpoints/new')
    const first = await press(visit, page, '/portal/endpoints', fields)
    await harness.db.query(`update page_submissions set done_at = done_at - interval '11 seconds'`)
    const second = await press(visit, page, '/portal/endpoints', fields)
    expect(second.location).toBe(first.location?.replace(/\?.*/, ''))
    expect((await visit.browser.follow(second)).text).not.toMatch(SECRET)
    expect(await countOf('webhook_endpoints', visit)).toBe(1)
  })

  it('is another one when the fields were changed, or when the page was opened again', async () => {
    const visit = await visitor()
    const page = await visit.open('/endpoints/new')
    await press(visit, page, '/portal/endpoints', fields)
    await press(visit, page, '/portal/endpoints', { ...fields, url: 'https://127.0.0.1/other' })
    await press(visit, await visit.open('/endpoints/new'), '/portal/endpoints', fields)
    expect(await countOf('webhook_endpoints', visit)).toBe(3)
  })

  it('works after a first press that failed on our side, and after one whose process died', async () => {
    const visit = await visitor()
    const page = await visit.open('/endpoints/new')
    await harness.db.query('alter table webhook_endpoints rename to webhook_endpoints_away')
    const failed = await press(visit, page, '/portal/endpoints', fields)
    await harness.db.query('alter table webhook_endpoints_away rename to webhook_endpoints')
    expect(failed.status).toBe(500)
    expect((await press(visit, page, '/portal/endpoints', fields)).status).toBe(303)
    await harness.db.query(
      `update page_submissions set done_at = null, key_id = null, ciphertext = null, claimed_at = now() - interval '31 seconds'`,
    )
    await press(visit, page, '/portal/endpoints', fields)
    expect(await countOf('webhook_endpoints', visit)).toBe(2)
  })

  it('leaves no result behind for longer than five minutes', async () => {
    const visit = await visitor()
    await anEndpoint(visit)
    await harness.db.query(`update page_submissions set claimed_at = claimed_at - interval '6 minutes'`)
    await anEndpoint(visit)
    expect(await submissionsOf(visit)).toHaveLength(1)
    await harness.db.query(`update page_submissions set claimed_at = claimed_at - interval '6 minutes'`)
    await harness.ctx.cleanup.runHourly()
    expect(await submissionsOf(visit)).toEqual([])
  })

  it('has its result stored sealed, and gone with the session', async () => {
    const visit = await visitor()
    await anEndpoint(visit)
    const [row] = await submissionsOf(visit)
    expect(row?.ciphertext.toString('latin1')).not.toMatch(/whsec_|127\.0\.0\.1/)
    await harness.db.query('delete from login_sessions where account_id = $1', [visit.user.id])
    expect(await submissionsOf(visit)).toEqual([])
  })
})

describe('every form of the portal', () => {
  it('answers 303, whether it was done or refused', async () => {
    const visit = await visitor()
    const { browser, open } = visit
    const { id } = await anEndpoint(visit)
    const failed = await aDelivery(harness, id, { status: 2 })
    const own = `/endpoints/${id}`
    const good = { url: 'https://127.0.0.1/next', events: 'webhook.ping' }
    const forms: readonly (readonly [page: string, action: string, fields: Record<string, string>])[] = [
      ['/endpoints/new', '/portal/endpoints', good],
      ['/endpoints/new', '/portal/endpoints', { ...good, url: 'ftp://x' }],
      [own, own, good],
      [own, own, { ...good, url: 'ftp://x' }],
      [own, '/test', {}],
      [own, '/secret/rotate', { hours: '24' }],
      [own, '/secret/cancel', {}],
      [own, '/secret/rotate', { hours: '7' }],
      [`${own}/deliveries/${failed.id}`, '/replay', {}],
      [`${own}/deliveries/${failed.id}`, '/replay', {}],
      [`${own}/recover`, '/recover', { hours: '24', what: 'all' }],
      [`${own}/recover`, '/recover', { hours: '3' }],
      ['/tokens', '/tokens', { name: 'one', days: '30' }],
      ['/tokens', '/tokens', { name: 'n'.repeat(101), days: '30' }],
      ['/signatures', '/signatures', { secret: 'x', headers: 'a: b', body: '{}' }],
      [`${own}/delete`, '/delete', {}],
    ]
    for (const [page, action, fields] of forms) {
      const answer = await browser.submit(await open(page), action, fields)
      expect([page, action, answer.status, answer.text]).toEqual([page, action, 303, ''])
      expect((await browser.follow(answer)).status).toBeLessThan(500)
    }
  })

  it('keeps what was typed but no secret, and forgets it with the next page', async () => {
    const visit = await visitor()
    const fields = { secret: `whsec_${'A'.repeat(43)}=`, headers: 'webhook-id: evt_mine', body: '{"mine":1}' }
    const answer = await visit.browser.submit(await visit.open('/signatures'), '/signatures', fields)
    const page = await visit.browser.follow(answer)
    expect([page.text.includes('evt_mine'), page.text.includes(fields.secret)]).toEqual([true, false])
    expect((await reloaded(visit, page)).text).not.toContain('evt_mine')
  })
})

describe('a text of as many characters as /v1 takes', () => {
  const longest = (start: string, length: number) => start + '😀'.repeat(length - start.length)

  it('can be the URL of an endpoint, when it is created and when it is changed', async () => {
    const visit = await visitor()
    const url = longest('https://127.0.0.1/', 2048)
    const { id } = await anEndpoint(visit, url)
    const own = `/endpoints/${id}`
    expect((await visit.open(own)).text).toContain(`value="${url}"`)
    const changed = longest('https://127.0.0.1/changed', 2048)
    const fields = { url: changed, events: 'summary.completed' }
    await sent(visit.browser, await visit.open(own), own, fields)
    const { text } = await visit.open(own)
    expect([text.includes(`value="${changed}"`), /<input[^>]*maxlength/.test(text)]).toEqual([true, false])
  })

  it('can be the name of a token, and one more is refused', async () => {
    const visit = await visitor()
    const send = async (name: string) =>
      sent(visit.browser, await visit.open('/tokens'), '/tokens', { name, days: '30' })
    expect(/<input[^>]*maxlength/.test((await visit.open('/tokens')).text)).toBe(false)
    expect((await send(longest('a', 100))).text).toMatch(/svp_\w{30,}/)
    expect((await send(longest('a', 101))).text).toContain('role="alert"')
    expect(await countOf('personal_tokens', visit)).toBe(1)
  })
})

describe('a refusal', () => {
  it.each([
    ['/endpoints/new', '/portal/endpoints', 'url', { url: 'ftp://x.example/', events: 'webhook.ping' }],
    ['/tokens', '/tokens', 'name', { name: 'n'.repeat(101), days: '30' }],
    ['/tokens', '/tokens', 'days', { name: 'x', days: '31' }],
  ])('of %s (form %s) is tied to the field %s', async (below, action, field, fields) => {
    const { browser, open } = await visitor()
    const answer = await browser.submit(await open(below), action, fields)
    const { status, text } = await browser.follow(answer)
    const [tag = ''] = new RegExp(`<(input|select)[^>]* name="${field}"[^>]*>`).exec(text) ?? []
    expect([status, tag]).toEqual([400, expect.stringMatching(/aria-invalid="true"/)])
    expect(tag).toMatch(/aria-describedby="notice"/)
    expect(tag).toMatch(/autofocus/)
    expect(text).toMatch(/id="notice"\s+role="alert"/)
    expect(text.match(/autofocus/g)).toHaveLength(1)
    expect(formOf({ ...answer, text }, action).fields['csrf']).not.toBe('')
  })

  it('of the form of an endpoint keeps what was typed there', async () => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    const answer = await visit.browser.submit(await visit.open(`/endpoints/${id}`), `/endpoints/${id}`, {
      url: 'ftp://typed.example/',
      events: 'webhook.ping',
    })
    const page = await visit.browser.follow(answer)
    expect([page.status, page.text.includes('value="ftp://typed.example/"')]).toEqual([400, true])
    expect((await reloaded(visit, page)).text).not.toContain('typed.example')
  })
})
