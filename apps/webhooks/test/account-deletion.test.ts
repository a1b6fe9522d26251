import { describe, expect, it } from '@jest/globals'
import { writeTombstone } from '@signet/webhook-core/stores'
import { behindLock } from '@signet/webhook-testkit'
import { lockWaiters } from '@signet/testkit'
import { aPersonalToken } from './support/access-token.js'
import { aNotice, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { withLosableLock } from './support/lose-lock.js'

const api = useApi()

/** Counts the rows of an account in every table that names accounts, including future ones, except the one that records deletions. */
async function rowsOf(accountId: string): Promise<Record<string, number>> {
  const { rows: tables } = await api.db.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and c.column_name = 'account_id' and t.table_type = 'BASE TABLE'
       and c.table_name <> 'account_states' order by 1`,
  )
  expect(tables.length).toBeGreaterThan(7)
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const { rows } = await api.db.query<{ n: number }>(
      `select count(*)::integer as n from ${name} where account_id = $1`,
      [accountId],
    )
    if (rows[0]?.n !== 0) counts[name] = rows[0]?.n ?? -1
  }
  return counts
}

describe('a deleted account', () => {
  it('is not brought back by a notice that comes later', async () => {
    const { accountId } = await api.anAccount()
    await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })
    await api.internal('DELETE', `/internal/v1/accounts/${accountId}`)
    const reply = await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })
    expect([reply.status, reply.body]).toEqual([
      410,
      { error: { code: 'account_deleted', message: expect.any(String) } },
    ])
    expect(await rowsOf(accountId)).toEqual({})
  })

  it('leaves no row in any table when forty notices arrive with its deletion in their middle', async () => {
    const { accountId, token } = await api.anAccount()
    await aPersonalToken(api.db, accountId)
    await createEndpoint(api, token)
    const notice = (n: number) =>
      api.internal('POST', '/internal/v1/summary-ready', {
        body: aNotice(accountId, { audio_id: `rec_${n % 7}` }),
      })
    const first = Array.from({ length: 20 }, (_, n) => notice(n))
    await Promise.race(first)
    const deletion = api.internal('DELETE', `/internal/v1/accounts/${accountId}`)
    const second = Array.from({ length: 20 }, (_, n) => notice(n + 20))
    expect((await deletion).status).toBe(200)
    const replies = await Promise.all([...first, ...second])
    expect(replies.filter(({ status }) => status !== 202 && status !== 410)).toEqual([])
    expect((await notice(1)).status).toBe(410)
    expect(await rowsOf(accountId)).toEqual({})
  })

  it('is left to another process by one that has lost its lock, in the middle of an account', async () => {
    const { accountId } = await api.anAccount()
    const notice = aNotice(accountId, { recording: { title: 'Meeting' } })
    expect((await api.internal('POST', '/internal/v1/summary-ready', { body: notice })).status).toBe(202)
    await api.db.transaction((tx) => writeTombstone(tx, accountId, new Date()))
    const { accountRemoval } = api.service.ctx.webhooks
    const purging = withLosableLock(api.db, 'account-purge', (lose) =>
      behindLock(
        api.db,
        (tx) => tx.query('lock table recordings in exclusive mode'),
        1,
        () => accountRemoval.purgeAll(),
        lose,
      ),
    )
    await expect(purging).rejects.toThrow()
    expect(await rowsOf(accountId)).toMatchObject({ webhook_events: 1 })
    await accountRemoval.purgeAll()
    expect(await rowsOf(accountId)).toEqual({})
  })

  it('is refused by every table that names accounts, so that no code can forget to look', async () => {
    const { rows } = await api.db.query<{ name: string; guarded: boolean }>(
      `select c.table_name as name, exists (
         select from information_schema.triggers g
         where g.event_object_table = c.table_name and g.trigger_name = 'refuse_deleted_accounts'
           and g.event_manipulation = 'INSERT'
       ) as guarded
       from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
       where c.table_schema = 'public' and c.column_name = 'account_id' and t.table_type = 'BASE TABLE'
         and c.table_name <> 'account_states'`,
    )
    expect(rows.filter(({ guarded }) => !guarded)).toEqual([])
    const { accountId } = await api.anAccount()
    await api.internal('DELETE', `/internal/v1/accounts/${accountId}`)
    await expect(aPersonalToken(api.db, accountId)).rejects.toMatchObject({
      constraint: 'account_is_not_deleted',
    })
  })

  it('gets no recording either, not even where a row of it was there before', async () => {
    const { accountId } = await api.anAccount()
    const put = () =>
      api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/rec_1`, { body: { title: 'x' } })
    expect((await put()).status).toBe(200)
    await api.internal('DELETE', `/internal/v1/accounts/${accountId}`)
    expect((await put()).status).toBe(410)
    const removal = await api.internal('DELETE', `/internal/v1/accounts/${accountId}/recordings/rec_1`)
    expect(removal.status).toBe(200)
    expect(await rowsOf(accountId)).toEqual({})
  })

  it('is refused in the transaction that writes: what waited behind the deletion stores nothing', async () => {
    const { accountId } = await api.anAccount()
    const { reply } = await api.db.transaction(async (tx) => {
      await writeTombstone(tx, accountId, new Date())
      const reply = api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })
      await lockWaiters(api.db, 1)
      return { reply }
    })
    expect((await reply).status).toBe(410)
  })
})
