import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { JwksClient, verifyJwt } from '@signet/jwt'
import { aUser } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

const page = readFileSync(new URL('../docs/row-level-security.md', import.meta.url), 'utf8')
const statements = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql]) => sql ?? '')

describe('the row-level security example of the documents', () => {
  let server: TestServer
  let keys: JwksClient
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    keys = new JwksClient({ url: `${server.url}/.well-known/jwks.json` })
    const { db } = server.context
    for (const sql of statements)
      await db.query(sql.replace(/create role (\w+) nologin;/g, createRoleUnlessThere))
  })
  afterAll(() => server.close())

  /** Queries as a front end does: verifies the token, takes its role, passes its claims on, and runs the statement. */
  async function asCaller<R extends object>(
    token: string,
    sql: string,
    values: unknown[] = [],
  ): Promise<R[]> {
    const claims = await verifyJwt(keys, token, { audience: 'authenticated', now: server.clock.now })
    expect(claims['role']).toBe('authenticated')
    return server.context.db.transaction(async (tx) => {
      await tx.query('set local role authenticated')
      await tx.query(`select set_config('request.jwt.claims', $1, true)`, [JSON.stringify(claims)])
      return (await tx.query<R>(sql, values)).rows
    })
  }
  const write = (token: string, body: string, secret = false) =>
    asCaller<{ owner: string }>(
      token,
      'insert into app.notes (body, secret) values ($1, $2) returning owner',
      [body, secret],
    )
  const read = async (token: string) =>
    (await asCaller<{ body: string }>(token, 'select body from app.notes order by id')).map(
      ({ body }) => body,
    )

  it('shows users their own rows only', async () => {
    const [ada, bob] = [await aUser(server), await aUser(server)]
    expect(await write(ada.access_token, 'by Ada')).toEqual([{ owner: ada.user.id }])
    await write(bob.access_token, 'by Bob')
    expect(await read(ada.access_token)).toEqual(['by Ada'])
    expect(await read(bob.access_token)).toEqual(['by Bob'])
    const stolen = asCaller(bob.access_token, 'insert into app.notes (owner, body) values ($1, $2)', [
      ada.user.id,
      'x',
    ])
    await expect(stolen).rejects.toThrow(/row-level security/)
    expect(
      await asCaller(bob.access_token, 'update app.notes set body = $1 where owner = $2 returning id', [
        'x',
        ada.user.id,
      ]),
    ).toEqual([])
  })

  it('hides secret rows from a session without second factor', async () => {
    const { access_token: token, user } = await aUser(server)
    await expect(write(token, 'secret', true)).rejects.toThrow(/row-level security/)
    await server.context.db.query('insert into app.notes (owner, body, secret) values ($1, $2, true)', [
      user.id,
      'secret',
    ])
    expect(await read(token)).toEqual([])
  })

  it('leaves nothing behind for the next use of the connection', async () => {
    const { access_token: token } = await aUser(server)
    await write(token, 'mine')
    const { rows } = await server.context.db.query<{ claims: string | null }>(
      `select nullif(current_setting('request.jwt.claims', true), '') as claims`,
    )
    expect(rows[0]?.claims).toBeNull()
    expect((await server.context.db.query('select app.user_id() as id')).rows).toEqual([{ id: null }])
  })
})

// Roles belong to the whole cluster, so another run may already have created them.
const createRoleUnlessThere = (statement: string): string =>
  `do $do$ begin ${statement} exception when duplicate_object or unique_violation then null; end $do$;`
