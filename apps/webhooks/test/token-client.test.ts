import { describe, expect, it } from '@jest/globals'
import { credentials, REDIRECT, type RegisteredClient, type OAuthErrorBody } from './support/oauth.js'
import { queriesDuring } from './support/queries.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const user = () => harness.identity.addUser()
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

const authorized = (metadata: Record<string, unknown> = {}, parameters = {}) =>
  oauth.authorized(user(), metadata, parameters)

describe('client authentication', () => {
  const exchange = (
    grant: { code: string; verifier: string },
    form: Record<string, string>,
    authorization?: string,
  ) =>
    oauth.token<OAuthErrorBody>(
      {
        grant_type: 'authorization_code',
        code: grant.code,
        redirect_uri: REDIRECT,
        code_verifier: grant.verifier,
        ...form,
      },
      authorization === undefined ? {} : { authorization },
    )
  const secretOf = (client: RegisteredClient) => client.client_secret ?? ''

  it.each(['client_secret_basic', 'client_secret_post'])(
    '%s clients may use either method',
    async (method) => {
      const one = await authorized({ token_endpoint_auth_method: method })
      expect((await exchange(one.grant, credentials(one.client))).status).toBe(200)
      const two = await authorized({ token_endpoint_auth_method: method })
      const header = basic(two.client.client_id, secretOf(two.client))
      expect((await exchange(two.grant, {}, header)).status).toBe(200)
      const three = await authorized({ token_endpoint_auth_method: method })
      const raw = basic(three.client.client_id, secretOf(three.client))
      expect((await exchange(three.grant, { client_id: three.client.client_id }, raw)).status).toBe(200)
    },
  )

  it('decodes Basic credentials in which everything is percent-encoded', async () => {
    const { client, grant } = await authorized({ token_endpoint_auth_method: 'client_secret_basic' })
    const encode = (text: string) =>
      [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
    const header = `basic ${Buffer.from(`${encode(client.client_id)}:${encode(secretOf(client))}`).toString('base64')}`
    expect((await exchange(grant, {}, header)).status).toBe(200)
  })

  it('takes Basic with an empty password for a public client', async () => {
    const { client, grant } = await authorized()
    expect((await exchange(grant, {}, basic(client.client_id, ''))).status).toBe(200)
  })

  it('refuses two methods at once, and a form client_id that differs', async () => {
    const { client, grant } = await authorized({ token_endpoint_auth_method: 'client_secret_basic' })
    const header = basic(client.client_id, secretOf(client))
    const both = await exchange(grant, { client_secret: secretOf(client) }, header)
    const differing = await exchange(grant, { client_id: 'svcl_other' }, header)
    for (const { status, body, headers } of [both, differing])
      expect([status, body.error, headers.get('www-authenticate')]).toEqual([400, 'invalid_request', null])
  })

  it('answers every failure with the same 401', async () => {
    const { client, grant } = await authorized({ token_endpoint_auth_method: 'client_secret_post' })
    const open = await oauth.client()
    const disabled = await oauth.client({ token_endpoint_auth_method: 'client_secret_post' })
    await harness.db.query('update oauth_clients set disabled_at = now() where client_id = $1', [
      disabled.client_id,
    ])
    const id = client.client_id
    const answers = await Promise.all([
      exchange(grant, { client_id: id }),
      exchange(grant, { client_id: id, client_secret: 'wrong' }),
      exchange(grant, { client_id: id, client_secret: `${secretOf(client).slice(0, -1)}-` }),
      exchange(grant, { client_id: `svcl_${'a'.repeat(24)}`, client_secret: 'wrong' }),
      exchange(grant, { client_id: 'nonsense\u0000' }),
      exchange(grant, credentials(disabled)),
      exchange(grant, { client_id: open.client_id, client_secret: 'secret' }),
      exchange(grant, {}, 'Basic !!!'),
      exchange(grant, { client_id: open.client_id }, 'Basic'),
      exchange(grant, {}, `Basic ${Buffer.from('no colon').toString('base64')}`),
      exchange(grant, {}, basic('%zz', 'x')),
      exchange(grant, {}, basic(id, 'wrong')),
      exchange(grant, {}),
    ])
    const challenge =
      'Basic realm="oauth", error="invalid_client", error_description="Client authentication failed"'
    for (const { status, headers, body } of answers)
      expect([status, headers.get('www-authenticate'), body]).toEqual([
        401,
        challenge,
        { error: 'invalid_client', error_description: 'Client authentication failed' },
      ])
    expect((await exchange(grant, credentials(client))).status).toBe(200)
  })
})

describe('a wrong secret and an unknown client', () => {
  it('cost the same query', async () => {
    const { client_id } = await oauth.client({ token_endpoint_auth_method: 'client_secret_post' })
    const ask = (id: string) =>
      queriesDuring(harness.db, () =>
        oauth.token({ grant_type: 'refresh_token', client_id: id, client_secret: `svs_${'a'.repeat(43)}` }),
      )
    const wrong = await ask(client_id)
    expect(wrong).toHaveLength(1)
    expect(await ask(`svcl_${'a'.repeat(24)}`)).toEqual(wrong)
  })
})
