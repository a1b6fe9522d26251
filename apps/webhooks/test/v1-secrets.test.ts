import { describe, expect, it } from '@jest/globals'
import { endpointSecretContext } from '@signet/webhook-core'
import { createEndpoint } from './support/api-data.js'
import { useApi, type Reply } from './support/api.js'

const api = useApi()
const HOUR_MS = 3_600_000

async function given() {
  const { accountId, token } = await api.anAccount()
  const { id, secret } = await createEndpoint(api, token)
  const ask = (what: string, body?: unknown) =>
    api.call('POST', `/v1/webhooks/${id}/secret/${what}`, { token, ...(body === undefined ? {} : { body }) })
  const rotate = async (body?: unknown) => {
    const reply = await ask('rotate', body)
    expect(reply.status).toBe(200)
    return reply.body as { endpoint_id: string; secret: string; secret_activates_at: string }
  }
  const item = async () => {
    const { body } = await api.call('GET', `/v1/webhooks/${id}`, { token })
    return (body as { item: { secret_activates_at: string } }).item
  }
  /** The current and the next secret, as stored. */
  const stored = async () => {
    const { rows } = await api.db.query<Record<string, Buffer | string | null>>(
      `select secret_ciphertext, secret_key_id, next_secret_ciphertext, next_secret_key_id
       from webhook_endpoints where id = $1`,
      [id],
    )
    const open = (name: string) => {
      const ciphertext = rows[0]?.[`${name}_ciphertext`]
      return ciphertext
        ? api.service.ctx.config.secretBox.open(
            { ciphertext: ciphertext as Buffer, keyId: String(rows[0]?.[`${name}_key_id`]) },
            endpointSecretContext({ id, accountId }),
          )
        : null
    }
    return [open('secret'), open('next_secret')]
  }
  /** Moves the time of the activation 10 seconds into the past. */
  const elapse = () =>
    api.db.query(
      `update webhook_endpoints set next_secret_active_at = now() - interval '10 seconds' where id = $1`,
      [id],
    )
  return { id, secret, ask, rotate, item, stored, elapse }
}

const statusesOf = (replies: Reply[]) => replies.map(({ status }) => status).sort()

describe('POST /v1/webhooks/{endpoint_id}/secret/rotate', () => {
  it('answers the next secret, and says when it will be active', async () => {
    const { id, secret, rotate, item, stored } = await given()
    const before = Date.now()
    const next = await rotate()
    expect(next).toEqual({
      endpoint_id: id,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as unknown,
      secret_activates_at: expect.any(String) as unknown,
    })
    expect(next.secret).not.toBe(secret)
    const hours = (Date.parse(next.secret_activates_at) - before) / HOUR_MS
    expect(Math.round(hours)).toBe(24)
    expect(await item()).toMatchObject({ secret_activates_at: next.secret_activates_at })
    expect(JSON.stringify(await item())).not.toContain('whsec_')
    expect(await stored()).toEqual([secret, next.secret])
  })

  it.each([1, 720])('after %d hours', async (hours) => {
    const { rotate } = await given()
    const { secret_activates_at } = await rotate({ activate_after_hours: hours })
    expect(Math.round((Date.parse(secret_activates_at) - Date.now()) / HOUR_MS)).toBe(hours)
  })

  it('replaces at once after 0 hours, and can be called again soon', async () => {
    const { rotate, item, ask, stored, elapse } = await given()
    const next = await rotate({ activate_after_hours: 0 })
    expect(next.secret_activates_at).toBe('')
    expect(await item()).toMatchObject({ secret_activates_at: '' })
    expect((await ask('cancel')).status).toBe(409)
    await elapse()
    const third = await rotate()
    expect(await stored()).toEqual([next.secret, third.secret])
  })

  it.each([-1, 721, 1.5, '24', null])('refuses %p hours', async (hours) => {
    const { ask, item } = await given()
    const reply = await ask('rotate', { activate_after_hours: hours })
    expect([reply.status, reply.body]).toMatchObject([400, { error: { code: 'bad_request' } }])
    expect(await item()).toMatchObject({ secret_activates_at: '' })
  })

  it('has one winner among many simultaneous callers, whose secret is the one that follows', async () => {
    const { secret, ask, stored } = await given()
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask('rotate')))
    expect(statusesOf(replies)).toEqual([200, 409, 409, 409, 409, 409, 409, 409])
    const winner = replies.find(({ status }) => status === 200)?.body as unknown as { secret: string }
    expect(await stored()).toEqual([secret, winner.secret])
    expect(replies.find(({ status }) => status === 409)?.body).toMatchObject({ error: { code: 'conflict' } })
  })
})

describe('replacing a secret at once', () => {
  it('has one winner among simultaneous callers: nobody is told a secret that the next call has replaced', async () => {
    const { ask, stored } = await given()
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => ask('rotate', { activate_after_hours: 0 })),
    )
    expect(statusesOf(replies)).toEqual([200, 409, 409, 409, 409, 409, 409, 409])
    const winner = replies.find(({ status }) => status === 200)?.body as unknown as { secret: string }
    expect((await stored()).at(-1)).toBe(winner.secret)
    const message = 'The secret was replaced a moment ago: replace it again after ten seconds'
    expect(replies.find(({ status }) => status === 409)?.body).toEqual({
      error: { code: 'conflict', message },
    })
  })
})

describe('activating and cancelling', () => {
  it('activates the next secret, once', async () => {
    const { ask, rotate, item, stored } = await given()
    const next = await rotate()
    const reply = await ask('activate')
    expect([reply.status, reply.body]).toEqual([200, { item: await item() }])
    expect(await item()).toMatchObject({ secret_activates_at: '' })
    expect(await stored()).toEqual([next.secret, null])
    expect(statusesOf([await ask('activate'), await ask('cancel')])).toEqual([409, 409])
  })

  it('cancels the next secret, once', async () => {
    const { secret, ask, rotate, item, stored } = await given()
    await rotate()
    const reply = await ask('cancel')
    expect([reply.status, reply.body]).toEqual([200, { item: await item() }])
    expect(await stored()).toEqual([secret, null])
    expect(statusesOf([await ask('cancel'), await ask('activate')])).toEqual([409, 409])
  })

  it('has nothing to do without a next secret, or when its time has passed', async () => {
    const { ask, rotate, elapse, item } = await given()
    expect(statusesOf([await ask('activate'), await ask('cancel')])).toEqual([409, 409])
    await rotate()
    await elapse()
    expect(await item()).toMatchObject({ secret_activates_at: '' })
    expect(statusesOf([await ask('activate'), await ask('cancel')])).toEqual([409, 409])
  })

  it('starts the next replacement from the secret whose time has passed', async () => {
    const { rotate, elapse, stored } = await given()
    const second = await rotate()
    await elapse()
    const third = await rotate()
    expect(await stored()).toEqual([second.secret, third.secret])
  })

  it('has one winner among many simultaneous callers of both', async () => {
    const { secret, ask, rotate, stored } = await given()
    const next = await rotate()
    const replies = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        const what = i % 2 ? 'activate' : 'cancel'
        return { what, ...(await ask(what)) }
      }),
    )
    const winners = replies.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    expect(await stored()).toEqual([winners[0]?.what === 'activate' ? next.secret : secret, null])
  })
})
