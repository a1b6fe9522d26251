import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { runGeneratedClient } from '@signet/testkit/open-api'
import { useApi } from './support/api.js'

const api = useApi()
const DOCUMENT = fileURLToPath(new URL('../docs/openapi.json', import.meta.url))

/** An application that uses the generated types. It compiles only if they are as exact as its code expects. */
const APPLICATION = `
import createClient from 'openapi-fetch'
import type { components, paths, webhooks } from './api.js'

type Webhook = components['schemas']['Webhook']
type Completed = webhooks['summary.completed']['post']['requestBody']['content']['application/json']

export function titleOf(event: Completed): string {
  const type: 'summary.completed' = event.type
  return type + event.data.audio_id + (event.data.title ?? '')
}

const [baseUrl, token] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { Authorization: 'Bearer ' + token } })
const url = 'https://app.example.com/hooks'

const created = await client.POST('/v1/webhooks', { body: { url, events: ['summary.completed'] } })
if (!created.data) throw new Error(created.error.error.message)
const { endpoint_id, status }: { endpoint_id: string; status: 1 | 2 } = created.data
const listed = await client.GET('/v1/webhooks')
const items: Webhook[] = listed.data?.items ?? []
// @ts-expect-error -- no such event type
const refused = await client.POST('/v1/webhooks', { body: { url, events: ['nothing.happened'] } })
const deleted = await client.DELETE('/v1/webhooks/{endpoint_id}', { params: { path: { endpoint_id } } })
const left = await client.GET('/v1/webhooks')
console.log(
  JSON.stringify({
    status,
    listed: items.map((item) => item.id === endpoint_id && item.url),
    refused: refused.error?.error.code,
    deleted: deleted.data?.ok,
    left: left.data?.items,
  }),
)
`

describe('a client that openapi-typescript generates', () => {
  it('compiles, and creates, lists and deletes an endpoint', async () => {
    const { token } = await api.anAccount()
    expect(await runGeneratedClient(DOCUMENT, APPLICATION, [api.url, token])).toEqual({
      status: 1,
      listed: ['https://app.example.com/hooks'],
      refused: 'bad_request',
      deleted: true,
      left: [],
    })
  })
})
