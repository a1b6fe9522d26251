import { describe, expect, it } from '@jest/globals'
import { useApi } from './support/api.js'
import { callTool, errorOf, post, request, type Message } from './support/mcp.js'

const api = useApi({
  env: () => ({
    WEBHOOKS_RATE_LIMITS_ENABLED: 'true',
    WEBHOOKS_RATE_LIMIT_V1: '12',
    WEBHOOKS_RATE_LIMIT_V1_WRITES: '4',
  }),
})

const isLimited = (outcome: Awaited<ReturnType<typeof callTool>>) =>
  outcome.isError === true && errorOf(outcome)['code'] === 'too_many_requests'

describe('limits of /v1', () => {
  it('count the calls of tools and of /v1 together, in parallel too', async () => {
    const { token } = await api.anAccount()
    for (let i = 0; i < 4; i++) await api.call('GET', '/v1/webhooks', { token })
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => callTool(api, token, 'list_webhooks')),
    )
    const limited = outcomes.filter(isLimited)
    expect(limited).toHaveLength(12)
    expect(errorOf(limited[0] ?? outcomes[0]!)).toMatchObject({
      retry_after_seconds: expect.any(Number) as unknown,
      what_to_do: expect.stringMatching(/^Wait \d+ seconds/) as unknown,
    })
    expect((await api.call('GET', '/v1/webhooks', { token })).status).toBe(429)
    const { token: other } = await api.anAccount()
    expect(isLimited(await callTool(api, other, 'list_webhooks'))).toBe(false)
  })

  it('are tighter for tools that write', async () => {
    const { token } = await api.anAccount()
    const outcomes = []
    for (let i = 0; i < 5; i++)
      outcomes.push(errorOf(await callTool(api, token, 'delete_webhook', { endpoint_id: '1' }))['code'])
    expect(outcomes).toEqual([...Array<string>(4).fill('not_found'), 'too_many_requests'])
  })

  it('count each call of a batch', async () => {
    const { token } = await api.anAccount()
    const batch = Array.from({ length: 20 }, (_, id) => request('tools/call', { name: 'list_webhooks' }, id))
    const answers = (await post(api, batch, { token })).body as Message[]
    expect(answers.filter(({ result }) => result?.['isError'])).toHaveLength(8)
  })

  it.each<[string, object]>([
    ['a message that calls no tool', request('tools/list')],
    ['a tool that does not exist', request('tools/call', { name: 'x' })],
    ['arguments that do not fit', request('tools/call', { name: 'get_webhook' })],
    ['params that are no object', { ...request('tools/call'), params: 5 }],
    ['a call without the name of a tool', request('tools/call', {})],
    ['a call that wants no answer', { jsonrpc: '2.0', method: 'tools/call', params: { name: 'x' } }],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['no message at all', { x: 1 }],
  ])('count %s', async (_, message) => {
    const { token } = await api.anAccount()
    for (let i = 0; i < 12; i++) await post(api, message, { token })
    expect((await api.call('GET', '/v1/webhooks', { token })).status).toBe(429)
  })

  it('answer with the time to wait where there is no tool to answer', async () => {
    const { token } = await api.anAccount()
    for (let i = 0; i < 12; i++) await post(api, request('ping'), { token })
    const reply = await post(api, request('ping'), { token })
    expect(reply.status).toBe(429)
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((reply.body as Message).error?.data).toEqual({ code: 'too_many_requests' })
  })
})
