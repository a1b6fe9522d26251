import { expect, it } from '@jest/globals'
import { createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

async function given() {
  const { token } = await api.anAccount()
  const { id } = await createEndpoint(api, token)
  const { rows } = await api.db.query<{ id: string }>(
    `with event as (
       insert into webhook_events (id, account_id, type, source, body, state, dispatched_at)
       select 'evt_' || md5(id::text), account_id, 'summary.completed', 'test', '{}', 'dispatched', now()
       from webhook_endpoints where id = $1::bigint returning id)
     insert into webhook_deliveries (endpoint_id, event_id, event_type, attempts, last_error, next_attempt_at)
     select $1::bigint, id, 'summary.completed', 3, 'http_503', '2030-01-01T00:00:00Z' from event returning id`,
    [id],
  )
  const deliveryId = rows[0]?.id ?? ''
  const get = (endpoint: string, delivery: string, as = token) =>
    api.call('GET', `/v1/webhooks/${endpoint}/deliveries/${delivery}`, { token: as })
  return { id, deliveryId, token, get }
}

it('shows a delivery as the log does, with when it is tried next and every attempt', async () => {
  const { id, deliveryId, token, get } = await given()
  await api.db.query(
    `insert into webhook_attempts
       (delivery_id, number, started_at, duration_ms, http_status, error, url_version, exchange, answer)
     values
       ($1, 2, '2026-01-01T00:01:00Z', 7, null, 'interrupted', 1, null, null),
       ($1, 1, '2026-01-01T00:00:00Z', 5000, null, 'tls_error', 1,
        '{"dns": 12, "connect": 3, "tls_problem": "certificate_expired"}', null),
       ($1, 3, '2026-01-01T00:02:00Z', 40, 503, 'http_503', 2,
        '{"dns": 1, "connect": 2, "tls": 0, "first_byte": 30, "peer": "93.184.215.14"}', 'down\\u001b')`,
    [deliveryId],
  )
  const { status, body } = await get(id, deliveryId)
  const log = await api.call('GET', `/v1/webhooks/${id}/deliveries`, { token })
  const [item] = (log.body as { items: object[] }).items
  const started = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`
  expect([status, body]).toEqual([
    200,
    {
      item: {
        ...item,
        next_attempt_at: '2030-01-01T00:00:00.000Z',
        attempt_log: [
          {
            number: 1,
            started_at: started(0),
            duration_ms: 5000,
            phases: { dns_ms: 12, connect_ms: 3 },
            error: 'tls_error',
            tls_problem: 'certificate_expired',
            peer_address: '',
            answer: '',
          },
          {
            number: 2,
            started_at: started(1),
            duration_ms: 7,
            phases: {},
            error: 'interrupted',
            peer_address: '',
            answer: '',
          },
          {
            number: 3,
            started_at: started(2),
            duration_ms: 40,
            phases: { dns_ms: 1, connect_ms: 2, tls_ms: 0, first_byte_ms: 30 },
            http_status: 503,
            error: 'http_503',
            peer_address: '93.184.215.14',
            answer: 'down\\u001b',
          },
        ],
      },
    },
  ])
})

it('has no attempts before the first, and no next one after the end', async () => {
  const { id, deliveryId, get } = await given()
  await api.db.query(
    `update webhook_deliveries set status = 2, next_attempt_at = null, last_error = 'endpoint_disabled' where id = $1`,
    [deliveryId],
  )
  expect((await get(id, deliveryId)).body).toMatchObject({ item: { next_attempt_at: '', attempt_log: [] } })
})

it('answers 404 for anything that is not a delivery of this endpoint of this account', async () => {
  const [own, other] = [await given(), await given()]
  const second = await createEndpoint(api, own.token)
  const replies = await Promise.all([
    own.get(own.id, other.deliveryId),
    own.get(second.id, own.deliveryId),
    own.get(other.id, other.deliveryId),
    own.get(own.id, '9223372036854775807'),
    own.get(own.id, '9223372036854775808'),
    own.get(own.id, 'x'),
    own.get('x', own.deliveryId),
    own.get(own.id, own.deliveryId, other.token),
  ])
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 404))
})
