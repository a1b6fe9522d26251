import { describe, expect, it } from '@jest/globals'
import { html } from '@signet/pages'
import type { DeliveryId } from '@signet/webhook-core'
import { deliveryHeaders } from '@signet/webhook-core/signature'
import { textsIn } from '../src/pages/texts.js'
import { portalPage } from '../src/portal/portal-page.js'
import { aDelivery, anEndpoint, aVisitor, sent } from './support/portal.js'
import { useOAuth } from './support/use-oauth.js'

let skewMs = 0
const { harness, oauth } = useOAuth({
  env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' },
  now: () => new Date(Date.now() + skewMs),
})
const visitor = () => aVisitor({ harness, oauth })

describe('the address of a form that showed its answer', () => {
  it('leads to the page above it when it is opened later', async () => {
    const { open, browser } = await visitor()
    const { id } = await anEndpoint({ browser, open })
    const leadsTo = async (below: string) => (await open(below)).location
    expect(await leadsTo('/endpoints')).toBe('/portal')
    expect(await leadsTo(`/endpoints/${id}/secret/rotate`)).toBe(`/portal/endpoints/${id}`)
    expect(await leadsTo(`/endpoints/${id}/deliveries/7/replay`)).toBe(`/portal/endpoints/${id}/deliveries/7`)
    expect(await leadsTo('/applications/x/revoke')).toBe('/portal/applications')
  })
})

describe('the account of whoever is signed in', () => {
  it('is managed at the identity server, to which every page links', async () => {
    const { open } = await visitor()
    const account = `href="${harness.ctx.config.identityUrl}/ui/account"`
    for (const below of ['', '/tokens', '/signatures']) expect((await open(below)).text).toContain(account)
  })

  it('is not linked to where another identity server has no such page', () => {
    const signOut = { action: '/sign-out', csrf: 'x' }
    const none = { refusal: undefined, done: undefined, isLive: false, section: null, body: html`` }
    const page = portalPage(textsIn('en'), {
      ...none,
      title: 'Portal',
      email: 'ana@example.com',
      account: null,
      signOut,
      docs: '/docs',
      path: (below) => below,
    })
    expect(page.body.text).toContain('ana@example.com')
    expect(page.body.text).not.toContain('Manage account')
  })
})

describe('buttons of lists', () => {
  it('have names that differ, also where two entries are called the same', async () => {
    const { user, browser, open } = await visitor()
    const one = async () => {
      await oauth.connect(user, { client_name: 'Notes' })
      await browser.submit(await open('/tokens'), '/tokens', { name: 'script', days: '30' })
    }
    await one()
    for (const table of ['oauth_grants', 'personal_tokens'])
      await harness.db.query(
        `update ${table} set created_at = created_at - interval '1 day' where account_id = $1`,
        [user.id],
      )
    await one()
    for (const page of ['/applications', '/tokens']) {
      const names = [...(await open(page)).text.matchAll(/aria-label="(Revoke [^"]+)"/g)].map(
        ([, name]) => name,
      )
      expect([page, names.length, new Set(names).size]).toEqual([page, 2, 2])
    }
  })
})

describe('applications', () => {
  it('lists what is connected, with its scopes, and ends it', async () => {
    const { user, browser, open } = await visitor()
    expect((await open('/applications')).text).toContain('No application has access')
    const { tokens } = await oauth.connect(user, { client_name: 'Notes for Teams' })
    const page = await open('/applications')
    expect(page.text).toContain('Notes for Teams')
    expect(page.text).toContain('Read your recording events')
    const revoked = await sent(browser, page, '/revoke')
    expect(revoked.text).toContain('Access was revoked')
    expect(revoked.text).not.toContain('Notes for Teams')
    expect(await oauth.works(tokens.access_token)).toBe(false)
  })

  it('shows an application once however often it was approved, and ends all of it', async () => {
    const { user, browser, open } = await visitor()
    const client = await oauth.client({ client_name: 'Twice' })
    const [first, second] = [
      (await oauth.exchange(client, await oauth.authorize(client, user))).body,
      (await oauth.exchange(client, await oauth.authorize(client, user))).body,
    ]
    const page = await open('/applications')
    expect(page.text.match(/<bdi>Twice/g)).toHaveLength(1)
    await browser.submit(page, '/revoke')
    expect([await oauth.works(first.access_token), await oauth.works(second.access_token)]).toEqual([
      false,
      false,
    ])
  })

  it('ends the access of the command-line tool, whose id is shorter than others', async () => {
    const { user, browser, open } = await visitor()
    const redirect_uris = ['http://127.0.0.1/callback']
    const tool = { client_id: 'svcl_cli', redirect_uris, token_endpoint_auth_method: 'none' }
    const { access_token } = (await oauth.exchange(tool, await oauth.authorize(tool, user))).body
    const revoked = await sent(browser, await open('/applications'), '/revoke')
    expect(revoked.text).toContain('Access was revoked')
    expect(await oauth.works(access_token)).toBe(false)
  })
})

describe('personal tokens', () => {
  it('are made, shown once, listed and revoked', async () => {
    const { browser, open } = await visitor()
    const fields = { name: 'nightly job', days: '30' }
    const created = await sent(browser, await open('/tokens'), '/tokens', fields)
    const [token = ''] = /svp_\w+/.exec(created.text) ?? []
    expect(await oauth.works(token)).toBe(true)
    const list = await open('/tokens')
    expect([list.text.includes('nightly job'), list.text.includes(token)]).toEqual([true, false])
    await browser.submit(list, '/revoke')
    expect(await oauth.works(token)).toBe(false)
  })

  it('keep the name that was typed when it is refused', async () => {
    const { browser, open } = await visitor()
    const name = 'n'.repeat(101)
    const refused = await sent(browser, await open('/tokens'), '/tokens', { name, days: '30' })
    expect([refused.status, refused.text.includes('role="alert"'), refused.text.includes(name)]).toEqual([
      400,
      true,
      true,
    ])
  })

  it('need a sign-in of the last quarter of an hour', async () => {
    const { browser, open } = await visitor()
    const fresh = await open('/tokens')
    skewMs = 16 * 60_000
    try {
      const page = await open('/tokens')
      const [, again = ''] = /href="([^"]*\/sign-in\?[^"]*)"/.exec(page.text) ?? []
      expect((await browser.get(again.replaceAll('&#38;', '&'))).location).toContain('prompt=login')
      const refused = await sent(browser, fresh, '/tokens', { name: 'late', days: '30' })
      expect([refused.status, refused.text.includes('svp_')]).toEqual([400, false])
    } finally {
      skewMs = 0
    }
  })

  it('need a proof of that time: a sign-in that the sign-in page passes on can be older', async () => {
    const { user, browser, open } = await visitor()
    const fresh = await open('/tokens')
    const earlier = `update login_sessions set proved_at = proved_at - interval '16 minutes' where account_id = $1`
    await harness.db.query(earlier, [user.id])
    expect((await open('/tokens')).text).toContain('You signed in too long ago')
    const refused = await sent(browser, fresh, '/tokens', { name: 'late', days: '30' })
    expect([refused.status, refused.text.includes('svp_')]).toEqual([400, false])
  })
})

describe('endpoints', () => {
  it('go from nothing to a test event in four steps, and the helper takes its signature', async () => {
    const visit = await visitor()
    const { browser, open } = visit
    const first = await open()
    expect(first.text).toContain('signet listen')
    const made = await sent(browser, first, '/portal/endpoints', {
      url: 'https://127.0.0.1:9443/hooks',
      events: 'summary.completed',
    })
    const [, secret = ''] = /<pre[^>]*>(whsec_[^<]+)</.exec(made.text) ?? []
    const log = await sent(browser, made, '/test')
    expect(log.text).toContain('A test event is on its way')
    const { rows } = await harness.db.query<{ type: string }>(
      'select type from webhook_events where account_id = $1',
      [visit.user.id],
    )
    expect(rows).toEqual([{ type: 'webhook.ping' }])
    const body = '{"type":"webhook.ping"}\n{}'
    const content = { secret, body, timestamp: Math.floor(Date.now() / 1000), eventType: 'webhook.ping' }
    const headers = deliveryHeaders({
      ...content,
      eventId: `evt_${'0'.repeat(32)}`,
      deliveryId: '1' as DeliveryId,
    })
    const text = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\r\n')
    const check = async (changes: Record<string, string> = {}) => {
      const fields = { secret, headers: text, body: body.replaceAll('\n', '\r\n'), ...changes }
      const { text: page } = await sent(browser, await open('/signatures'), '/signatures', fields)
      return [...page.matchAll(/<code>([\w-]+)<\/code>:\s+([^<]*?)\s*</g)].map(([, name, words]) => [
        name,
        words,
      ])
    }
    expect(await check()).toEqual([
      ['x-service-signature', 'valid.'],
      ['webhook-signature', 'valid.'],
    ])
    // The last one has the form of older secrets.
    const secrets = [`whsec_${'A'.repeat(43)}=`, `whsec_${'-'.repeat(43)}`]
    const wrong: Record<string, string>[] = [{ body: '{}' }, ...secrets.map((other) => ({ secret: other }))]
    for (const changes of wrong) for (const [, words] of await check(changes)) expect(words).toMatch(/^wrong/)
    expect((await check({ secret: 'hello' }))[0]?.[1]).toMatch(/^cannot be checked/)
  })

  it('keep what was typed when the address is refused', async () => {
    const { browser, open } = await visitor()
    const form = await open('/endpoints/new')
    const refused = await sent(browser, form, '/portal/endpoints', {
      url: 'ftp://x.example/',
      events: 'webhook.ping',
    })
    expect([refused.status, refused.text.includes('value="ftp://x.example/"')]).toEqual([400, true])
    expect(refused.text).toMatch(/value="webhook\.ping"\s+checked/)
  })

  it('have the quota of the API, and say so', async () => {
    const visit = await visitor()
    for (let count = 0; count < 5; count += 1) await anEndpoint(visit)
    const { page } = await anEndpoint(visit)
    expect([page.status, page.text.includes('5 webhooks')]).toEqual([429, true])
  })

  it('are changed, enabled and deleted after a question', async () => {
    const visit = await visitor()
    const { browser, open } = visit
    const { id } = await anEndpoint(visit)
    await harness.db.query(
      `update webhook_endpoints set status = 2, disabled_at = now(), disabled_reason = 'http_500', consecutive_failures = 20,
              failing_since = now() where id = $1`,
      [id],
    )
    const disabled = await open(`/endpoints/${id}`)
    expect(disabled.text).toContain('it responded with 500')
    const enabled = await sent(browser, disabled, '/enable')
    expect(enabled.text).toContain('active again')
    const saved = await sent(browser, enabled, `/endpoints/${id}`, {
      url: 'https://127.0.0.1/new',
      events: 'webhook.ping',
    })
    expect([saved.text.includes('Saved'), saved.text.includes('https://127.0.0.1/new')]).toEqual([true, true])
    const question = await open(`/endpoints/${id}/delete`)
    expect(question.text).toContain('cannot be undone')
    const gone = await sent(browser, question, '/delete')
    expect(gone.text).toContain('was deleted')
    expect((await open(`/endpoints/${id}`)).status).toBe(404)
  })

  it('get a next secret, shown once, which is activated or forgotten', async () => {
    const visit = await visitor()
    const { browser, open } = visit
    const { id, secret } = await anEndpoint(visit)
    const rotate = async () => sent(browser, await open(`/endpoints/${id}`), '/rotate', { hours: '24' })
    const rotated = await rotate()
    const [, next = ''] = /<pre[^>]*>(whsec_[^<]+)</.exec(rotated.text) ?? []
    expect(next).not.toBe(secret)
    const page = await open(`/endpoints/${id}`)
    expect([page.text.includes(next), page.text.includes('A new secret is pending')]).toEqual([false, true])
    expect((await sent(browser, page, '/cancel')).text).toContain('was discarded')
    await rotate()
    const activated = await browser.submit(await open(`/endpoints/${id}`), '/activate')
    expect((await browser.follow(activated)).text).toContain('now the only one')
    // A form that was opened before is refused, as the API would refuse it, with a way back.
    const late = await sent(browser, page, '/activate')
    expect([late.status, late.text.includes('role="alert"')]).toEqual([409, true])
  })

  it('show the health of each over 24 hours, by one query', async () => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    await anEndpoint(visit)
    for (const tookMs of [100, 200, 300, 400]) await aDelivery(harness, id, { tookMs, hoursAgo: 2 })
    await aDelivery(harness, id, { status: 2 })
    await aDelivery(harness, id, { hoursAgo: 25 })
    const page = await visit.open()
    expect(page.text).toMatch(/<strong>4<\/strong> delivered/)
    expect(page.text).toMatch(/<strong>1<\/strong> failed/)
    expect(page.text).toMatch(/50% within <strong>250 ms/)
    expect(page.text).toMatch(/95% within <strong>385 ms/)
    expect(page.text.match(/<rect class="delivered"/g)).toHaveLength(2)
    expect(page.text).toContain('Nothing was sent in the last 24 hours')
  })
})

it('shows every event type with a sample', async () => {
  const { text } = await (await visitor()).open('/events')
  for (const type of ['summary.completed', 'webhook.ping']) expect(text).toContain(`<code>${type}</code>`)
  expect(text).toContain('This is a test event.')
})
