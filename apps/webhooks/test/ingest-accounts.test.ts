import { describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { sha256 } from '../src/credentials/credential.js'
import { aPersonalToken } from './support/access-token.js'
import { aNotice, eventRows, mirrorOf, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

/** An account with every kind of access: an OAuth token, a personal token, a browser session. */
async function anAccountWithAccess() {
  const { accountId, token } = await api.anAccount()
  const personal = await aPersonalToken(api.db, accountId)
  await api.db.query(
    `insert into login_sessions (id_hash, account_id, csrf_key, signed_in_at, authenticated_at, expires_at)
     values ($1, $2, $1, now(), now(), now() + interval '1 hour')`,
    [sha256(accountId), accountId],
  )
  const works = async () =>
    Promise.all(
      [token, personal].map(async (one) => (await api.call('GET', '/v1/webhooks', { token: one })).status),
    )
  const sessions = async () => {
    const { rows } = await api.db.query('select from login_sessions where account_id = $1', [accountId])
    return rows.length
  }
  return { accountId, token, works, sessions }
}

describe('POST /internal/v1/accounts/{account_id}/revoke', () => {
  it('ends OAuth access, personal tokens and sessions at once, and nobody else’s', async () => {
    const [banned, other] = [await anAccountWithAccess(), await anAccountWithAccess()]
    expect(await banned.works()).toEqual([200, 200])
    const reply = await api.internal('POST', `/internal/v1/accounts/${banned.accountId}/revoke`, {
      body: { reason: 'banned' },
    })
    expect([reply.status, reply.body]).toEqual([200, { ok: true }])
    expect([await banned.works(), await banned.sessions()]).toEqual([[401, 401], 0])
    expect([await other.works(), await other.sessions()]).toEqual([[200, 200], 1])
  })

  it('keeps endpoints, and may be repeated and said without a reason', async () => {
    const { accountId, token } = await anAccountWithAccess()
    await createEndpoint(api, token)
    for (let i = 0; i < 2; i++) {
      const reply = await api.internal('POST', `/internal/v1/accounts/${accountId.toUpperCase()}/revoke`)
      expect(reply.status).toBe(200)
    }
    const { rows } = await api.db.query(
      'select from webhook_endpoints where account_id = $1 and deleted_at is null',
      [accountId],
    )
    expect(rows).toHaveLength(1)
  })

  it('takes any text for a reason', async () => {
    const { accountId } = await api.anAccount()
    const body = { reason: 'a\0b\ud800' }
    expect((await api.internal('POST', `/internal/v1/accounts/${accountId}/revoke`, { body })).status).toBe(
      200,
    )
  })

  it.each([{ reason: '' }, { reason: 1 }, { reason: 'x'.repeat(201) }])('refuses %p', async (body) => {
    const { accountId, works } = await anAccountWithAccess()
    const reply = await api.internal('POST', `/internal/v1/accounts/${accountId}/revoke`, { body })
    expect([reply.status, await works()]).toEqual([400, [200, 200]])
  })
})

describe('DELETE /internal/v1/accounts/{account_id}', () => {
  it('ends all access and leaves no row of the account behind', async () => {
    const { accountId, token, works, sessions } = await anAccountWithAccess()
    const { id } = await createEndpoint(api, token)
    await api.call('POST', `/v1/webhooks/${id}/test`, { token })
    await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })
    await api.db.query(
      `insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
       select $2, id, type, now() from webhook_events where account_id = $1`,
      [accountId, id],
    )
    const reply = await api.internal('DELETE', `/internal/v1/accounts/${accountId}`)
    expect([reply.status, reply.body]).toEqual([200, { ok: true }])
    expect([await works(), await sessions()]).toEqual([[401, 401], 0])
    expect(await mirrorOf(api, accountId)).toEqual({ recording: null, transcript: null, summaries: [] })
    expect(await eventRows(api, accountId)).toEqual([])
    const { rows } = await api.db.query(
      `select (select count(*)::integer from webhook_endpoints where account_id = $1) as endpoints,
              (select count(*)::integer from webhook_deliveries where endpoint_id = $2) as deliveries`,
      [accountId, id],
    )
    expect(rows).toEqual([{ endpoints: 0, deliveries: 0 }])
  })

  it('leaves other accounts alone and may be repeated', async () => {
    const other = await anAccountWithAccess()
    await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(other.accountId) })
    const { accountId } = await api.anAccount()
    for (let i = 0; i < 2; i++) {
      expect((await api.internal('DELETE', `/internal/v1/accounts/${accountId}`)).status).toBe(200)
    }
    expect([await other.works(), (await eventRows(api, other.accountId)).length]).toEqual([[200, 200], 1])
  })

  it('takes its turn among simultaneous notices of a recording, and every call succeeds', async () => {
    const { accountId } = await api.anAccount()
    // The table has the last summary first, so a deletion of all of them meets them in another order than a write does.
    for (const position of [4, 3, 2, 1, 0]) {
      await api.db.query(
        `insert into summaries (account_id, audio_id, position, label, content, format)
         values ($1, 'rec_1001', $2, 'x', 'x', 'markdown')`,
        [accountId, position],
      )
    }
    const summaries = Array.from({ length: 5 }, () => ({ label: 'y', content: 'y', format: 'markdown' }))
    const notices = Array.from({ length: 6 }, () => aNotice(accountId, { summaries }))
    const { replies } = await api.db.transaction(async (tx) => {
      await tx.query('select from summaries where account_id = $1 and position = 2 for update', [accountId])
      const sent = notices.map((body) => api.internal('POST', '/internal/v1/summary-ready', { body }))
      // One notice is being written, and the others wait for their turn.
      await lockWaiters(api.db, 1)
      sent.push(api.internal('DELETE', `/internal/v1/accounts/${accountId}`))
      await lockWaiters(api.db, 2)
      return { replies: Promise.all(sent) }
    })
    const statuses = (await replies).map(({ status }) => status)
    expect(statuses.pop()).toBe(200)
    expect(statuses.filter((status) => status === 202).length).toBeGreaterThanOrEqual(1)
    expect(statuses.filter((status) => status !== 202 && status !== 410)).toEqual([])
    expect(await mirrorOf(api, accountId)).toEqual({ recording: null, transcript: null, summaries: [] })
  })
})
