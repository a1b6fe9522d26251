import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hasModules, runPython, runSchemathesis } from '@signet/testkit/programs'
import { aNotice, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { PYTHON_FOLDER } from './support/programs.js'

// Runs programs that know the service only by its OpenAPI document. `npm run interop` fetches them; tests of missing ones are skipped.
const api = useApi()

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-document-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Saves the document that the service serves, and returns the path of the file. */
async function theDocument(): Promise<string> {
  const file = join(folder, 'openapi.json')
  writeFileSync(file, (await api.call('GET', '/openapi.json')).text)
  return file
}

/** An account with an endpoint for each operation, a failed delivery, and a running recovery. */
async function anAccountInUse() {
  const { accountId, token } = await api.anAccount()
  const [first, second] = [await createEndpoint(api, token), await createEndpoint(api, token)]
  await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })
  const { rows } = await api.db.query<{ id: string }>(
    `insert into webhook_deliveries (endpoint_id, event_id, event_type, status, last_error)
     select $2::bigint, id, type, 2, 'timeout' from webhook_events where account_id = $1 returning id`,
    [accountId, first.id],
  )
  const body = { since: '2026-01-01T00:00:00Z', what: 'failed' }
  const recovery = await api.call('POST', `/v1/webhooks/${first.id}/recover`, { token, body })
  return {
    token,
    endpoints: [first.id, second.id],
    deliveries: rows.map(({ id }) => id),
    recoveries: [(recovery.body as { item: { id: string } }).item.id],
  }
}

/** Makes most requests name ids that exist. */
const settings = ({ endpoints, deliveries, recoveries }: Awaited<ReturnType<typeof anAccountInUse>>) => `
[dictionaries]
endpoints = { values = ${JSON.stringify(endpoints)} }
deliveries = { values = ${JSON.stringify(deliveries)} }
recoveries = { values = ${JSON.stringify(recoveries)} }

[parameters]
"path.endpoint_id" = { dictionary = "endpoints", probability = 0.8 }
"path.delivery_id" = { dictionary = "deliveries", probability = 0.8 }
"path.recovery_id" = { dictionary = "recoveries", probability = 0.8 }

# What is deleted early is not there for the others.
[[operations]]
include-operation-id = "deleteWebhook"
parameters = { "path.endpoint_id" = { dictionary = "endpoints", probability = 0.1 } }

# Two rules cannot be said in a schema, so that a request that fits it may be refused: the host of a URL is public, and
# \`until\` is later than \`since\`.
[[operations]]
include-operation-id = ["createWebhook", "updateWebhook", "listDeliveries", "listRecoveries", "startRecovery"]
checks.positive_data_acceptance.enabled = false
`

/** Long enough for thousands of requests on a busy machine. */
const TIME_LIMIT_MS = 1_200_000

describe('schemathesis', () => {
  const test = hasModules('schemathesis') ? it : it.skip

  test(
    'finds no answer of /v1 that deviates from the document',
    async () => {
      const account = await anAccountInUse()
      const said = await runSchemathesis({
        folder,
        document: (await api.call('GET', '/openapi.json')).text,
        url: api.url,
        token: account.token,
        settings: settings(account),
        selection: ['--include-path-regex', '^/v1/'],
      })
      // Every phase ran, over every operation.
      expect(said).toMatch(/Selected: 18\/\d+\s+Tested: 18\n/)
      expect(said.match(/✅ (?:Examples|Coverage|Fuzzing|Stateful)$/gm)).toHaveLength(4)
      // The service accepted the token.
      expect(said).not.toContain('Authentication failed')
    },
    TIME_LIMIT_MS,
  )
})

describe('openapi-python-client', () => {
  const test = hasModules('openapi_python_client') ? it : it.skip

  test('generates a client that creates, lists and deletes an endpoint', async () => {
    const { token } = await api.anAccount()
    const program = join(PYTHON_FOLDER, 'generated_client.py')
    expect(JSON.parse(await runPython([program, await theDocument(), api.url, token], folder))).toEqual({
      status: 1,
      listed: ['https://app.example.com/hooks'],
      refused: 'bad_request',
      deleted: true,
      left: [],
    })
  })
})
