import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { documentChecker, wrongExamples } from '@signet/testkit/open-api'
import { apiDocument } from '../src/api-docs/api-document.js'
import { authRoutes } from '../src/app.js'
import { generatedDocs } from '../src/docs.js'
import { errorCodes } from '../src/errors/error-codes.js'
import { definitions, providers } from '../src/providers/definitions/index.js'
import type { ProviderDefinition } from '../src/providers/model/provider.js'
import { anEmail, aUser, call, get, post, put, type ApiAnswer, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const admin = { token: serviceToken() }

type Operation = {
  requestBody?: { content: Readonly<Record<string, { example?: Json }>> }
  security: readonly Record<string, unknown>[]
}
type OpenApi = { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }

/** Tests whose cases are in separate files. */
const ROWS: Readonly<Record<string, string[]>> = {
  rows: ['rows-of-people.ts', 'rows-of-work.ts'],
  'open-id': ['open-id.test.ts', 'rows-of-open-id.ts'],
}

describe('the documents', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_PASSKEY_ENABLED: 'true',
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
      const { guide, openId }: ProviderDefinition = definitions[name]
      const { tests } = guide
      expect([name, tests.length > 0]).toEqual([name, true])
      // The cases of id tokens follow from the definitions.
      for (const file of tests.filter((test) => test !== 'id-token' || !openId?.idTokenGrant)) {
        const texts = (ROWS[file] ?? [`${file}.test.ts`]).map((row) =>
          readFileSync(new URL(`providers/${row}`, import.meta.url), 'utf8'),
        )
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
      const body = method === 'post' || method === 'put' || method === 'patch' ? {} : undefined
      const answer = await call(server, method.toUpperCase(), concrete, { body })
      expect([path, answer.status === 401]).toEqual([path, docs.security !== undefined])
    }
  })

  it('describe real answers, examples included', async () => {
    const user = await aUser(server)
    const token = user.access_token
    // Each of these calls compares its answer with the document.
    const answers: ApiAnswer[] = [
      await get(server, '/health'),
      await get(server, '/.well-known/jwks.json'),
      await get(server, '/settings'),
      await post(server, '/signup', {}),
      await put(server, '/user', { email: anEmail() }, { token }),
      await post(server, '/factors', { factor_type: 'totp', friendly_name: 'a' }, { token }),
      await get(server, '/user', { token }),
      await get(server, '/admin/users', admin),
      await get(server, `/admin/users/${user.user.id}/factors`, admin),
      await get(server, '/admin/audit', admin),
      await post(server, '/admin/generate_link', { type: 'magiclink', email: user.email }, admin),
      await post(server, '/resend', { type: 'signup', email: anEmail() }),
    ]
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(wrongExamples(apiDocument(authRoutes(server.context), server.url))).toEqual([])
  })

  it('give examples of requests that the server understands', async () => {
    const user = await aUser(server)
    const tokens: Readonly<Record<string, string>> = { user: user.access_token, admin: serviceToken() }
    const { paths } = apiDocument(authRoutes(server.context), server.url) as unknown as OpenApi
    const examples = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { requestBody, security }]) => {
        const example = requestBody?.content['application/json']?.example
        const [scheme = ''] = security.flatMap((one) => Object.keys(one))
        return example === undefined ? [] : [{ method, path, example, token: tokens[scheme] }]
      }),
    )
    expect(examples.length).toBeGreaterThan(20)
    const misunderstood: object[] = []
    for (const { method, path, example, token } of examples) {
      const to = path.replace(/\{\w+\}/g, randomUUID()) + (path === '/token' ? '?grant_type=password' : '')
      const { body } = await call(server, method.toUpperCase(), to, {
        body: example,
        ...(token && { token }),
      })
      if (body['error_code'] === 'validation_failed' || body['error_code'] === 'bad_json')
        misunderstood.push({ method, path, example, answer: body['msg'] })
    }
    expect(misunderstood).toEqual([])
  })

  it('would refuse an answer that is not described', () => {
    const fits = documentChecker(apiDocument(authRoutes(server.context), server.url))
    const health = { version: '1', name: 'auth', description: 'x' }
    expect(() => fits('GET', '/health', { status: 200, body: health })).not.toThrow()
    expect(() => fits('GET', '/health', { status: 200, body: { ...health, more: 1 } })).toThrow('additional')
    expect(() => fits('GET', '/health', { status: 404, body: health })).toThrow('not documented')
  })

  it('list every error code logged in these tests', () => {
    const codes = server.lines.map(({ error_code: code }) => code).filter((code) => code !== undefined)
    expect(codes.length).toBeGreaterThan(0)
    expect(codes.filter((code) => !Object.hasOwn(errorCodes, code as string))).toEqual([])
  })
})
