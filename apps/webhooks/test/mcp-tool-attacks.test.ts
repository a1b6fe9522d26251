import { describe, expect, it } from '@jest/globals'
import { createEndpoint, listOf } from './support/api-data.js'
import { useApi } from './support/api.js'
import { callTool, errorOf, toolsOf, type ToolOutcome } from './support/mcp.js'

const api = useApi()

describe('an attacker', () => {
  /** Calls every tool that takes the id of an endpoint with this id. */
  async function everyToolWith(token: string, endpointId: string): Promise<ToolOutcome[]> {
    const tools = (await toolsOf(api, token)).filter(
      ({ inputSchema }) => 'endpoint_id' in inputSchema.properties,
    )
    expect(tools.length).toBeGreaterThan(10)
    const others = {
      delivery_id: '1',
      recovery_id: '1',
      since: '2026-01-01T00:00:00Z',
      url: 'https://example.com',
    }
    return Promise.all(
      tools.map(({ name, inputSchema }) => {
        const names = [...inputSchema.required, ...(name === 'update_webhook' ? ['url'] : [])]
        const given = names.map((key) => [key, { ...others, endpoint_id: endpointId }[key]])
        return callTool(api, token, name, Object.fromEntries(given) as object)
      }),
    )
  }

  it('gets nothing of another account: its ids do not exist', async () => {
    const owner = await api.anAccount()
    const { id } = await createEndpoint(api, owner.token)
    const before = await listOf(api, owner.token)
    const { token } = await api.anAccount()
    for (const outcome of await everyToolWith(token, id))
      expect(errorOf(outcome)).toMatchObject({ code: 'not_found' })
    expect(await listOf(api, owner.token)).toEqual(before)
  })

  it.each(['../webhook-events/samples', '1/../2', '1?x=1', '1%2f..', '', ' 1', '1\n', '__proto__', '1e3'])(
    'cannot lead a path elsewhere by the id %j',
    async (id) => {
      const { token } = await api.anAccount()
      for (const outcome of await everyToolWith(token, id))
        expect(errorOf(outcome)).toMatchObject({ code: 'not_found' })
    },
  )

  // Parsed from text, because `__proto__` in an object literal would set the prototype.
  const withMember = (name: string) =>
    JSON.parse(`{"url":"https://example.com","${name}":{"events":["summary.completed"]}}`) as object

  it.each(['constructor', 'toString', 'hasOwnProperty'])('finds no argument named %s', async (name) => {
    const { token } = await api.anAccount()
    const outcome = await callTool(api, token, 'create_webhook', withMember(name))
    expect(errorOf(outcome)).toMatchObject({ code: 'bad_request' })
    expect(await listOf(api, token)).toEqual([])
  })

  it('cannot set a member through a prototype', async () => {
    const { token } = await api.anAccount()
    await callTool(api, token, 'create_webhook', withMember('__proto__'))
    // The protocol library drops the member, just as /v1 ignores members that it does not know.
    expect(await listOf(api, token)).toMatchObject([{ events: [] }])
  })

  it('cannot add a query to a path, or a second value to a parameter', async () => {
    const { token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    const call = (given: object) => callTool(api, token, 'list_deliveries', { endpoint_id: id, ...given })
    expect(errorOf(await call({ event_type: 'webhook.ping&page=2' }))).toMatchObject({ code: 'bad_request' })
    expect(errorOf(await call({ 'status[]': 1 }))).toMatchObject({ code: 'bad_request' })
  })
})
