import type { FormBrowser, Seen } from '@signet/testkit'
import type { Harness } from './harness.js'
import type { User } from './identity-double.js'
import type { OAuthTester } from './oauth.js'

/** A person who is signed in to the portal, in a browser without scripts. */
export async function aVisitor(
  { harness, oauth }: { harness: Harness; oauth: OAuthTester },
  user: User = harness.identity.addUser(),
): Promise<{ user: User; browser: FormBrowser; open: (below?: string) => Promise<Seen> }> {
  const browser = oauth.browser()
  const start = await browser.get('/sign-in')
  await browser.get(harness.identity.answerTo(start.location ?? '', user))
  return { user, browser, open: (below = '') => browser.get(`/portal${below}`) }
}

/** Sends a form, and opens the page that it leads to. */
export const sent = async (
  browser: FormBrowser,
  page: Seen,
  action: string,
  fields: Record<string, string> = {},
): Promise<Seen> => browser.follow(await browser.submit(page, action, fields))

/** Creates an endpoint on the pages, and returns it with its secret. */
export async function anEndpoint(
  { browser, open }: Pick<Awaited<ReturnType<typeof aVisitor>>, 'browser' | 'open'>,
  url = 'https://127.0.0.1:9443/hooks',
): Promise<{ id: string; secret: string; page: Seen }> {
  const fields = { url, events: 'summary.completed' }
  const page = await sent(browser, await open('/endpoints/new'), '/portal/endpoints', fields)
  const [, id = ''] = /portal\/endpoints\/(\d+)\/test/.exec(page.text) ?? []
  const [, secret = ''] = /(whsec_[A-Za-z0-9+/=]+)/.exec(page.text.replaceAll('&#43;', '+')) ?? []
  return { id, secret, page }
}

type DeliveryRow = { status?: number; hoursAgo?: number; tookMs?: number; answer?: string; body?: string }

/** A delivery of an endpoint as the dispatcher leaves it behind, with one attempt. */
export async function aDelivery(
  { db }: Harness,
  endpointId: string,
  { status = 1, hoursAgo = 0, tookMs = 120, answer = 'ok', body = '{"id":"x"}' }: DeliveryRow = {},
): Promise<{ id: string; eventId: string }> {
  const { rows } = await db.query<{ id: string; eventId: string }>(
    `with event as (
       insert into webhook_events (id, account_id, type, source, body, state, dispatched_at)
       select 'evt_' || md5(random()::text), account_id, 'summary.completed', 'test', $6, 'dispatched', now()
         from webhook_endpoints where id = $1::bigint returning id
     ), delivery as (
       insert into webhook_deliveries
         (endpoint_id, event_id, event_type, status, attempts, last_error, created_at, delivered_at, next_attempt_at)
       select $1::bigint, id, 'summary.completed', $2::smallint, 1, case when $2::smallint = 2 then 'http_503' else '' end,
              now() - make_interval(hours => $3),
              case when $2::smallint = 1 then now() - make_interval(hours => $3) + make_interval(secs => $4 / 1000.0) end,
              case when $2::smallint = 0 then now() + interval '1 hour' end
         from event returning id, event_id
     ), attempt as (
       insert into webhook_attempts (delivery_id, number, started_at, duration_ms, http_status, error, url_version, exchange, answer)
       select id, 1, now(), 40, case when $2::smallint = 1 then 200 else 503 end,
              case when $2::smallint = 2 then 'http_503' else '' end, 1, '{"dns": 3, "first_byte": 30, "peer": "203.0.113.9"}', $5
         from delivery
     )
     select id, event_id as "eventId" from delivery`,
    [endpointId, status, hoursAgo, tookMs, answer, body],
  )
  const [made] = rows
  if (!made) throw new Error('no delivery was made')
  return made
}
