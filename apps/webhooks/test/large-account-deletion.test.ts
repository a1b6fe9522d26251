import { afterEach, describe, expect, it } from '@jest/globals'
import { countAccountRows, writeTombstone } from '@signet/webhook-core/stores'
import { createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

const TABLES = ['recordings', 'transcripts', 'summaries', 'webhook_events', 'webhook_deliveries']

/** Makes statements that change too many rows, or any row of one account, fail as if they had exceeded their time limit. */
async function limitStatements({ rows, account }: { rows?: number; account?: string }) {
  await api.db.query(
    `create or replace function refuse_long_statements() returns trigger language plpgsql as $$
     begin
       if (select count(*) > ${rows ?? 1_000_000} from touched)
         or exists (select from touched where to_jsonb(touched)->>'account_id' = '${account ?? 'nobody'}') then
         raise exception 'canceling statement due to statement timeout' using errcode = 'query_canceled';
       end if;
       return null;
     end $$`,
  )
  for (const table of TABLES)
    for (const verb of ['update', 'delete'])
      await api.db.query(
        `create or replace trigger refuse_long_${verb} after ${verb} on ${table}
         referencing old table as touched for each statement execute function refuse_long_statements()`,
      )
}

afterEach(async () => {
  await api.db.query('drop function if exists refuse_long_statements cascade')
})

/** An account with `count` recordings, queued events and pending deliveries. */
async function aLargeAccount(count: number) {
  const { accountId, token } = await api.anAccount()
  const { id } = await createEndpoint(api, token)
  await api.db.query(
    `with recording as (
       insert into recordings (account_id, audio_id) select $1, 'rec_' || n from generate_series(1, $2) n
     ), transcript as (
       insert into transcripts (account_id, audio_id, text) select $1, 'rec_' || n, 'x' from generate_series(1, $2) n
     ), summary as (
       insert into summaries (account_id, audio_id, position, label, content, format)
       select $1, 'rec_' || n, 0, 'S', 'x', 'markdown' from generate_series(1, $2) n
     ), event as (
       insert into webhook_events (id, account_id, type, source, state)
       select 'evt_' || md5($1::text || n), $1, 'summary.completed', 'test', 'queued' from generate_series(1, $2) n
       returning id
     )
     insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
     select $3, id, 'summary.completed', now() from event`,
    [accountId, count, id],
  )
  return accountId
}

const rowsLeft = async (accountId: string) =>
  Object.entries(await countAccountRows(api.db, accountId)).filter(([, count]) => count > 0)

const states = async () => {
  const { rows } = await api.db.query<{ account_id: string; purged: boolean }>(
    'select account_id, purged_at is not null as purged from account_states order by deleted_at',
  )
  return rows
}

describe('the deletion of an account', () => {
  it('needs no statement that handles all of its rows', async () => {
    const accountId = await aLargeAccount(2500)
    await limitStatements({ rows: 1000 })
    expect((await api.internal('DELETE', `/internal/v1/accounts/${accountId}`)).status).toBe(200)
    expect(await rowsLeft(accountId)).toEqual([])
  })

  it('does not wait for that of an account which fails', async () => {
    await api.db.query('delete from account_states')
    const [stuck, other] = [await aLargeAccount(1), await aLargeAccount(1)]
    for (const [index, accountId] of [stuck, other].entries())
      await api.db.transaction((tx) => writeTombstone(tx, accountId, new Date(index)))
    await limitStatements({ account: stuck })
    await api.service.ctx.webhooks.accountRemoval.purgeAll()
    expect(await states()).toEqual([
      { account_id: stuck, purged: false },
      { account_id: other, purged: true },
    ])
    expect(api.lines.filter(({ account_id: id, level }) => id === stuck && level === 'error')).toMatchObject([
      { msg: 'rows of a deleted account are left for the next run' },
    ])
    await api.db.query('drop function refuse_long_statements cascade')
    await api.service.ctx.webhooks.accountRemoval.purgeAll()
    expect(await rowsLeft(stuck)).toEqual([])
  })
})
