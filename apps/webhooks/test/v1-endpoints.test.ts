import { describe, expect, it } from '@jest/globals'
import { subscribe, useApi, type SubscriptionBody } from './v1-support.js'

const api = useApi()

const errorBody = (code: string) => ({ error: { code, message: expect.any(String) as unknown } })
const list = async (token: string) =>
  ((await api.call('GET', '/v1/webhooks', { token })).body as { items: SubscriptionBody[] }).items

describe('POST /v1/webhooks', () => {
  it('answers 200 with the secret and exactly the documented members', async () => {
    const { token } = await api.anAccount()
    const reply = await api.call('POST', '/v1/webhooks', {
      token,
      body: { url: 'https://Example.com/Hook?a=b', events: ['summary.completed'] },
    })
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        endpoint_id: expect.stringMatching(/^[1-9][0-9]*$/) as unknown,
        secret: expect.stringMatching(/^whsec_[A-Za-z0-9_-]{43}$/) as unknown,
        url: 'https://Example.com/Hook?a=b',
        events: ['summary.completed'],
        status: 1,
      },
    ])
  })
})

it('lists', async () => {
  const { token } = await api.anAccount()
  const { id } = await subscribe(api, token)
  expect((await list(token)).map((item) => item.id)).toEqual([id])
  expect(errorBody('x')).toBeDefined()
})
