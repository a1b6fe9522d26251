import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { compileSchema } from '@signet/http'
import { schemas } from '../src/api-docs/schemas.js'
import { authRoutes } from '../src/app.js'
import { generatedDocs } from '../src/docs.js'
import { errorCodes } from '../src/errors/error-codes.js'
import { definitions, providers } from '../src/providers/definitions/index.js'
import { anEmail, aUser, call, get, PASSWORD, post, put, type ApiAnswer } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const admin = { token: serviceToken() }

/** Checks a value against a schema of the document, whose references point into it. */
function validatorOf(name: string) {
  const local = JSON.parse(JSON.stringify(schemas).replaceAll('#/components/schemas/', '#/$defs/')) as object
  // Formats are for readers; what they mean is tested where the values are made.
  const definitions = JSON.parse(
    JSON.stringify(local, (key, value: unknown) => (key === 'format' ? undefined : value)),
  ) as object
  return compileSchema({ $defs: definitions, $ref: `#/$defs/${name}` })
}

describe('the documents', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())

  it('in the repository match the tables they are generated from', async () => {
    for (const [file, content] of Object.entries(await generatedDocs()))
      expect([file, readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')]).toEqual([file, content])
  })

  it('name tests for each provider', () => {
    for (const name of providers) {
      const { tests } = definitions[name].guide
      expect([name, tests.length > 0]).toEqual([name, true])
      for (const file of tests) {
        const rows = file === 'rows' ? ['rows-of-people.ts', 'rows-of-work.ts'] : [`${file}.test.ts`]
        const texts = rows.map((row) => readFileSync(new URL(`providers/${row}`, import.meta.url), 'utf8'))
        expect([name, texts.some((text) => new RegExp(`\\b${name}\\b`).test(text))]).toEqual([name, true])
      }
    }
  })

  it('serve the OpenAPI document, which has every route that the server runs and no other', async () => {
    const { body } = await get(server, '/openapi.json')
    const documented = Object.entries(body['paths'] as Record<string, object>).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    )
    const running = authRoutes(server.context)
      .filter(({ docs }) => docs.tag !== 'Not available')
      .map(({ method, path }) => `${method} ${path}`)
    expect(documented.sort()).toEqual(running.sort())
  })

  it('declare a bearer scheme for exactly the routes that refuse requests without one', async () => {
    const open = new Set(['/health', '/settings', '/openapi.json', '/.well-known/jwks.json'])
    for (const { method, path, docs } of authRoutes(server.context)) {
      if (docs.tag === 'Not available' || open.has(path)) continue
      const concrete = path.replace(/:\w+/g, '00000000-0000-4000-8000-000000000000')
      const body = method === 'post' || method === 'put' ? {} : undefined
      const answer = await call(server, method.toUpperCase(), concrete, { body })
      expect([path, answer.status === 401]).toEqual([path, docs.security !== undefined])
    }
  })

  it('describe real answers', async () => {
    const user = await aUser(server)
    const token = user.access_token
    const signIn = { email: user.email, password: PASSWORD }
    const answers: [string, ApiAnswer][] = [
      ['Health', await get(server, '/health')],
      ['KeySet', await get(server, '/.well-known/jwks.json')],
      ['Settings', await get(server, '/settings')],
      ['SignUp', await post(server, '/signup', { email: anEmail(), password: PASSWORD })],
      ['SignUp', await post(server, '/signup', {})],
      ['Session', await post(server, '/token?grant_type=password', signIn)],
      ['User', await get(server, '/user', { token })],
      ['User', await put(server, '/user', { email: anEmail() }, { token })],
      [
        'EnrolledFactor',
        await post(server, '/factors', { factor_type: 'totp', friendly_name: 'a' }, { token }),
      ],
      ['User', await get(server, '/user', { token })],
      ['UserList', await get(server, '/admin/users', admin)],
      ['User', await post(server, '/admin/users', { email: anEmail(), ban_duration: '1h' }, admin)],
      ['FactorList', await get(server, `/admin/users/${user.user.id}/factors`, admin)],
      ['AuditEntryList', await get(server, '/admin/audit', admin)],
      [
        'GeneratedLink',
        await post(server, '/admin/generate_link', { type: 'magiclink', email: user.email }, admin),
      ],
      ['Error', await get(server, '/nope')],
      ['Error', await get(server, '/nope', { versioned: true })],
      ['Error', await post(server, '/signup', { email: anEmail(), password: '1' })],
      ['Error', await post(server, '/signup', { email: anEmail(), password: '1' }, { versioned: true })],
    ]
    for (const [name, { body, text }] of answers)
      expect([name, text, validatorOf(name)(body)]).toEqual([name, text, null])
  })

  it('list every error code logged in these tests', () => {
    const codes = server.lines.map(({ error_code: code }) => code).filter((code) => code !== undefined)
    expect(codes.length).toBeGreaterThan(0)
    expect(codes.filter((code) => !Object.hasOwn(errorCodes, code as string))).toEqual([])
  })
})
