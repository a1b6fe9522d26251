import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { runGeneratedClient } from '@signet/testkit/open-api'
import { anEmail, PASSWORD } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const DOCUMENT = fileURLToPath(new URL('../docs/openapi.json', import.meta.url))

/** What an application would write with the generated types: it compiles only if they are as exact as this. */
const APPLICATION = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

type User = components['schemas']['User']

const [baseUrl, serviceToken, email = '', password = ''] = process.argv.slice(2)
const bearer = (token: string) => ({ Authorization: 'Bearer ' + token })
const client = createClient<paths>({ baseUrl })
const admin = createClient<paths>({ baseUrl, headers: bearer(serviceToken ?? '') })

const created = await admin.POST('/admin/users', { body: { email, password, email_confirm: true } })
if (!created.data) throw new Error(JSON.stringify(created.error))
const { id }: User = created.data
const grant = { params: { query: { grant_type: 'password' } } } as const
const signedIn = await client.POST('/token', { ...grant, body: { email, password } })
if (!signedIn.data) throw new Error(JSON.stringify(signedIn.error))
const { access_token, expires_in, token_type }: { access_token: string; expires_in: number; token_type: 'bearer' } = signedIn.data
const read = await client.GET('/user', { headers: bearer(access_token) })
// @ts-expect-error -- no such grant
const refused = await client.POST('/token', { params: { query: { grant_type: 'magic' } }, body: { email, password } })
const byId = { params: { path: { user_id: id } } }
const deleted = await admin.DELETE('/admin/users/{user_id}', byId)
const left = await admin.GET('/admin/users/{user_id}', byId)
const codeOf = (error: components['schemas']['Error'] | string | undefined) =>
  typeof error === 'object' && ('error_code' in error ? error.error_code : error.code)
console.log(
  JSON.stringify({
    expires_in,
    token_type,
    read: read.data?.id === id && read.data?.email,
    refused: refused.response.status,
    deleted: deleted.data,
    left: codeOf(left.error),
  }),
)
`

describe('a client that openapi-typescript generates', () => {
  it('compiles, and creates a user, signs in, reads and deletes the user', async () => {
    const email = anEmail()
    const args = [server.url, serviceToken(), email, PASSWORD]
    expect(await runGeneratedClient(DOCUMENT, APPLICATION, args)).toEqual({
      expires_in: 3600,
      token_type: 'bearer',
      read: email,
      refused: 400,
      deleted: {},
      left: 'user_not_found',
    })
  })
})
