import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anAccount, anEndpoint, endpointState } from '@signet/webhook-testkit'
import type { EndpointId } from '@signet/webhook-core'
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  patchEndpoint,
} from '@signet/webhook-core/stores'

const database = useWebhooksDatabase()

describe('insertEndpoint', () => {
  it('gives the last free places to exactly as many of many simultaneous callers', async () => {
    const { db } = database
    const accountId = anAccount()
    const create = () =>
      db.transaction((tx) =>
        insertEndpoint(tx, {
          accountId,
          url: 'https://example.com',
          href: 'https://example.com/',
          events: [],
          maxPerAccount: 5,
          seal: () => ({ keyId: 'k1', ciphertext: Buffer.from('sealed') }),
        }),
      )
    const made = await Promise.all(Array.from({ length: 20 }, create))
    expect(made.filter((endpoint) => endpoint !== null)).toHaveLength(5)
    expect(await listEndpoints(db, accountId)).toHaveLength(5)
  })

  it('seals the secret for the id that the endpoint gets', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const { rows } = await db.query<{ secret: Buffer }>(
      'select secret_ciphertext as secret from webhook_endpoints where id = $1',
      [endpoint.id],
    )
    expect(rows[0]?.secret.toString()).toBe(`sealed for ${endpoint.id}`)
  })

  it('counts disabled endpoints until they are deleted', async () => {
    const { db } = database
    const accountId = anAccount()
    const [first] = [await anEndpoint(db, { accountId, max: 2 }), await anEndpoint(db, { accountId, max: 2 })]
    await db.query(`update webhook_endpoints set status = 2, disabled_at = now() where id = $1`, [first.id])
    await expect(anEndpoint(db, { accountId, max: 2 })).rejects.toThrow('no place left')
    await deleteEndpoint(db, accountId, first.id)
    await expect(anEndpoint(db, { accountId, max: 2 })).resolves.toBeDefined()
  })
})

describe('finding endpoints', () => {
  it('shows an account its own ones only, oldest first', async () => {
    const { db } = database
    const accountId = anAccount()
    const first = await anEndpoint(db, { accountId, url: 'HTTPS://Example.com' })
    const second = await anEndpoint(db, { accountId })
    const foreign = await anEndpoint(db)
    expect((await listEndpoints(db, accountId)).map(({ id }) => id)).toEqual([first.id, second.id])
    expect(await findEndpoint(db, accountId, first.id)).toEqual({
      id: first.id,
      accountId,
      url: 'HTTPS://Example.com',
      urlVersion: 1,
      events: ['summary.completed'],
      status: 1,
      consecutiveFailures: 0,
      failingSince: null,
      disabledAt: null,
      disabledReason: null,
      secretActivatesAt: null,
      createdAt: first.createdAt,
      updatedAt: first.createdAt,
    })
    expect(await findEndpoint(db, accountId, foreign.id)).toBeNull()
    expect(await findEndpoint(db, accountId, '9223372036854775807' as EndpointId)).toBeNull()
  })
})

describe('patchEndpoint', () => {
  const other = { url: 'https://other.example.com', href: 'https://other.example.com/' }
  const same = { url: 'https://EXAMPLE.com/hook', href: 'https://example.com/hook' }
  const disable = (id: EndpointId) =>
    database.db.query(
      `update webhook_endpoints set status = 2, disabled_at = now(), consecutive_failures = 20 where id = $1`,
      [id],
    )
  const strike = (id: EndpointId) =>
    database.db.query(`update webhook_endpoints set consecutive_failures = 7 where id = $1`, [id])

  it.each([
    [
      'a changed url re-enables and resets',
      disable,
      other,
      { status: 1, consecutiveFailures: 0, urlVersion: 2 },
    ],
    [
      'a changed url resets an active one',
      strike,
      other,
      { status: 1, consecutiveFailures: 0, urlVersion: 2 },
    ],
    [
      'an equal url in another spelling is no change',
      disable,
      same,
      { status: 2, consecutiveFailures: 20, urlVersion: 1 },
    ],
    [
      'no url leaves a disabled one disabled',
      disable,
      undefined,
      { status: 2, consecutiveFailures: 20, urlVersion: 1 },
    ],
    ['no url keeps the count', strike, undefined, { status: 1, consecutiveFailures: 7, urlVersion: 1 }],
  ])('%s', async (_name, prepare, url, expected) => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    await prepare(endpoint.id)
    const patched = await patchEndpoint(db, endpoint.accountId, endpoint.id, { url, events: [] })
    expect(patched).toMatchObject({ ...expected, events: [], url: url?.url ?? endpoint.url })
    expect(patched?.updatedAt.getTime()).toBeGreaterThanOrEqual(endpoint.updatedAt.getTime())
  })

  it('raises the url version once for many simultaneous equal changes', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const patch = () => patchEndpoint(db, endpoint.accountId, endpoint.id, { url: other, events: [] })
    await Promise.all(Array.from({ length: 10 }, patch))
    expect((await endpointState(db, endpoint.id)).url_version).toBe(2)
  })

  it('finds neither foreign nor deleted endpoints', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    expect(await patchEndpoint(db, anAccount(), endpoint.id, { events: [] })).toBeNull()
    await deleteEndpoint(db, endpoint.accountId, endpoint.id)
    expect(await patchEndpoint(db, endpoint.accountId, endpoint.id, { events: [] })).toBeNull()
  })
})

describe('the table guards itself', () => {
  it.each([
    [`update webhook_endpoints set status = 3 where id = $1`],
    [`update webhook_endpoints set status = 2 where id = $1`],
    [`update webhook_endpoints set consecutive_failures = -1 where id = $1`],
    [`update webhook_endpoints set deleted_at = now() where id = $1`],
    [`update webhook_endpoints set secret_ciphertext = null where id = $1`],
  ])('against: %s', async (statement) => {
    const { db } = database
    const { id } = await anEndpoint(db)
    await expect(db.query(statement, [id])).rejects.toMatchObject({ code: '23514' })
  })
})
