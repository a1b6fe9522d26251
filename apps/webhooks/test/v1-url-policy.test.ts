import { describe, expect, it } from '@jest/globals'
import { listOf, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const answers: Record<string, string[]> = {
  'public.example.com': ['93.184.215.14', '2606:4700::1111'],
  'private.example.com': ['10.0.0.1'],
  'mixed.example.com': ['93.184.215.14', '127.0.0.1'],
  'mapped.example.com': ['::ffff:169.254.169.254'],
  'nat64.example.com': ['64:ff9b::192.168.0.1'],
  'empty.example.com': [],
}
const api = useApi({
  resolver: (host) =>
    host in answers
      ? Promise.resolve(
          (answers[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        )
      : Promise.reject(new Error('NXDOMAIN')),
})

const refused = (message: string) => [400, { error: { code: 'bad_request', message } }]
const NOT_PUBLIC = 'url must have a host that resolves to public addresses only'
const hosts: [string, string][] = [
  ['private.example.com', NOT_PUBLIC],
  ['mixed.example.com', NOT_PUBLIC],
  ['mapped.example.com', NOT_PUBLIC],
  ['nat64.example.com', NOT_PUBLIC],
  ['empty.example.com', NOT_PUBLIC],
  ['missing.example.com', NOT_PUBLIC],
]

describe('what a name means decides over an endpoint', () => {
  it('takes a name with public addresses of both families', async () => {
    const { token } = await api.anAccount()
    await createEndpoint(api, token, { url: 'https://public.example.com/' })
    expect(await listOf(api, token)).toHaveLength(1)
  })

  it.each(hosts)(
    '%s is refused for a new one and for a change, which changes nothing',
    async (host, message) => {
      const { token } = await api.anAccount()
      const { id } = await createEndpoint(api, token, { url: 'https://public.example.com/' })
      const before = await listOf(api, token)
      const body = { url: `https://${host}/`, events: ['webhook.ping'] }
      for (const [method, path] of [
        ['POST', '/v1/webhooks'],
        ['PATCH', `/v1/webhooks/${id}`],
      ] as const) {
        const reply = await api.call(method, path, { token, body })
        expect([reply.status, reply.body]).toEqual(refused(message))
      }
      expect(await listOf(api, token)).toEqual(before)
    },
  )
})
