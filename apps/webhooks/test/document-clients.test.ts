import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aNotice, subscribe } from './support/api-data.js'
import { useApi } from './support/api.js'
import { hasModules, programEnv, python, PYTHON_FOLDER } from './support/programs.js'

// Programs that know the service by its OpenAPI document alone. `npm run interop` fetches them; a machine without them skips them.
const api = useApi()

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-document-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a Python program in the temporary folder; what it printed is the message when it fails. */
async function run(...args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)(python, args, { cwd: folder, env: programEnv })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${stdout}${stderr}`, { cause: error })
  }
}

/** The document as the service answers it, in a file. */
async function theDocument(): Promise<string> {
  const file = join(folder, 'openapi.json')
  writeFileSync(file, (await api.call('GET', '/openapi.json')).text)
  return file
}

/** An account with a subscription for each thing that is done to one, a delivery that failed, and a recovery that goes on. */
async function anAccountInUse() {
  const { accountId, token } = await api.anAccount()
  const [first, second] = [await subscribe(api, token), await subscribe(api, token)]
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

/** Few requests, the same each time; most of them about what exists. */
const settings = ({ endpoints, deliveries, recoveries }: Awaited<ReturnType<typeof anAccountInUse>>) => `
seed = 1
continue-on-failure = true

[generation]
max-examples = 15

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
include-operation-id = ["createWebhook", "updateWebhook", "listDeliveries", "startRecovery"]
checks.positive_data_acceptance.enabled = false
`

describe('schemathesis', () => {
  const test = hasModules('schemathesis') ? it : it.skip

  test('finds no answer of /v1 that deviates from the document', async () => {
    const account = await anAccountInUse()
    const file = join(folder, 'schemathesis.toml')
    writeFileSync(file, settings(account))
    const said = await run(
      ...['-m', 'schemathesis.cli', '--config-file', file, '--no-color', 'run', await theDocument()],
      ...['--url', api.url, '--header', `Authorization: Bearer ${account.token}`],
      ...['--include-path-regex', '^/v1/'],
    )
    // Every phase ran, over every operation.
    expect(said).toMatch(/Selected: 17\/\d+\s+Tested: 17\n/)
    expect(said.match(/✅ (?:Examples|Coverage|Fuzzing|Stateful)$/gm)).toHaveLength(4)
    // It got past the door.
    expect(said).not.toContain('Authentication failed')
  })
})

describe('openapi-python-client', () => {
  const test = hasModules('openapi_python_client') ? it : it.skip

  test('generates a client that creates, lists and deletes a subscription', async () => {
    const { token } = await api.anAccount()
    const program = join(PYTHON_FOLDER, 'generated_client.py')
    expect(JSON.parse(await run(program, await theDocument(), api.url, token))).toEqual({
      status: 1,
      listed: ['https://app.example.com/hooks'],
      refused: 'bad_request',
      deleted: true,
      left: [],
    })
  })
})
