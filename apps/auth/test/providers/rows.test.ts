import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Ports } from '../../src/context.js'
import { definitions, providers, type Provider } from '../../src/providers/definitions/index.js'
import { isUuid } from '../../src/users/uuid.js'
import type { Json } from '../support/api.js'
import {
  CALLBACK,
  CLIENT_ID,
  CLIENT_SECRET,
  comeBack,
  depart,
  providerEnv,
  signInWith,
  startFakeProvider,
  targetOf,
  userOf,
  type FakeProvider,
} from '../support/fake-provider.js'
import { startServer, type TestServer } from '../support/server.js'
import {
  anotherPerson,
  isBasic,
  json,
  profileRoutes,
  setUp,
  tokenRoute,
  unconfirmed,
  withoutEmail,
  type Failure,
  type Row,
} from './row.js'
import { vendors } from './rows-of-open-id.js'
import { rowsOfPeople } from './rows-of-people.js'
import { rowsOfWork } from './rows-of-work.js'

const rows = [...rowsOfPeople, ...rowsOfWork]
const NOT_LET_IN = { error: 'access_denied', error_code: 'provider_email_needs_verification' }
const FAILED = { error: 'server_error', error_code: 'unexpected_failure' }

let provider: FakeProvider
beforeAll(async () => {
  provider = await startFakeProvider()
})
afterAll(() => provider.close())

const startAll = (ports: Partial<Ports> = {}) => {
  const env = rows.map(({ name, env: own }) => providerEnv(name, `${provider.url}/${name}`, own))
  return startServer(Object.assign({}, ...env) as Record<string, string>, ports)
}

it('every provider has the rows that its guide names, or a test file of its own', () => {
  const testedIn = (file: string) => providers.filter((name) => testsOf(name).includes(file))
  expect(rows.map(({ name }) => name).sort()).toEqual(testedIn('rows'))
  expect([...vendors].sort()).toEqual(testedIn('open-id'))
  for (const name of providers) {
    expect(testsOf(name)).toContainEqual(expect.stringMatching(`^(rows|open-id|${name})$`))
    for (const file of testsOf(name))
      expect(existsSync(new URL(`${file}.test.ts`, import.meta.url))).toBe(true)
  }
})

it('every provider that tells verified addresses from others has a row that says how', () => {
  const tells = rows.filter(
    ({ name, identity }) =>
      identity['email_verified'] === true &&
      !definitions[name as Provider].guide.returns.includes('counts as verified'),
  )
  expect(rows.filter(({ unverified }) => unverified !== undefined)).toEqual(tells)
})

const testsOf = (name: Provider): readonly string[] => definitions[name].guide.tests

describe('OAuth 2 providers (docs/specification.md#providers)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startAll()
  })
  afterAll(() => server.close())

  describe.each(rows)('$name', (row) => {
    const base = `/${row.name}`
    const signIn = () => signInWith(server, row.name, row.query)

    it('is asked for a code with its own scopes and a state of ours', async () => {
      const query = { ...row.query, scopes: `extra,more extra ${row.scope ?? ''}` }
      const { answer, location, state } = await depart(server, row.name, query)
      expect(answer.status).toBe(302)
      expect(`${location.origin}${location.pathname}`).toBe(`${provider.url}${base}${row.authorize}`)
      const { workos_provider: providerName, ...passed } = row.query ?? {}
      expect(Object.fromEntries(location.searchParams)).toEqual({
        client_id: CLIENT_ID,
        redirect_uri: CALLBACK,
        response_type: 'code',
        state,
        scope: [...(row.scope ? [row.scope] : []), 'extra more'].join(' '),
        ...passed,
        ...(providerName ? { provider: providerName } : {}),
      })
      expect(isUuid(state)).toBe(true)
    })

    it('redeems the code its way and maps the profile', async () => {
      setUp(provider, row)
      const target = await signIn()
      expectRedeemed(row)
      for (const route of profileRoutes(row))
        expect(provider.last(route).headers).toMatchObject({
          authorization: 'Bearer the-access-token',
          accept: 'application/json',
          'user-agent': expect.any(String) as unknown,
        })
      row.check?.(provider, base)

      if (row.refused) {
        expect(target.fragment).toMatchObject(NOT_LET_IN)
        const { rows: stored } = await server.context.db.query<{ identity_data: Json }>(
          'select identity_data from identities where provider = $1',
          [row.name],
        )
        expect(stored[0]?.identity_data).toEqual(row.identity)
        return
      }
      expect(target.fragment).toMatchObject({
        provider: row.name,
        provider_token: 'the-access-token',
        provider_refresh_token: 'the-refresh-token',
        token_type: 'bearer',
        expires_in: '3600',
        sb: '',
      })
      const user = await userOf(server, target)
      expect(user['identities']).toEqual([
        expect.objectContaining({ provider: row.name, identity_data: row.identity }),
      ])
      expect(user['app_metadata']).toEqual({ provider: row.name, providers: [row.name] })
    })

    it('takes a form-encoded token answer, and the other way to authenticate after a 401', async () => {
      setUp(provider, row)
      provider.answer(tokenRoute(row), (seen) => {
        if (isBasic(seen) === Boolean(row.basic)) return { status: 401, body: { error: 'invalid_client' } }
        if (row.tokenAnswer) return { body: { access_token: 'the-access-token', ...row.tokenAnswer } }
        return { body: 'access_token=the-access-token&token_type=bearer' }
      })
      const { fragment } = await signIn()
      expect(fragment).toMatchObject(row.refused ? NOT_LET_IN : { provider_token: 'the-access-token' })
    })

    it('an account without address is an error, unless that is allowed', async () => {
      setUp(provider, row, withoutEmail)
      const { query, fragment } = await signIn()
      if (row.env?.['EMAIL_OPTIONAL']) return expect(fragment).toHaveProperty('access_token')
      expect(query).toEqual({
        ...FAILED,
        error_description: 'Error getting user email from external provider',
      })
    })

    if (row.unverified)
      it('an address that it does not call verified lets nobody in', async () => {
        setUp(provider, row, (body) => anotherPerson(row)(unconfirmed(row)(body)))
        expect((await signIn()).query).toMatchObject(NOT_LET_IN)
      })

    it.each(failuresOf(row))('ends in an error on the site when it %s', async (_name, route, reply) => {
      setUp(provider, row)
      provider.answer(route, reply)
      const { state } = await depart(server, row.name, row.query)
      const answer = await comeBack(server, { code: 'the-code', state })
      expect(answer.status).toBe(302)
      const { base: site, query, fragment } = targetOf(answer)
      expect(site).toBe('https://app.example.com/')
      expect(query).toMatchObject(FAILED)
      expect(fragment).toMatchObject({ ...query, sb: '' })
      expect(JSON.stringify(query)).not.toMatch(/127\.0\.0\.1|the-access-token/)
    })
  })
})

describe('providers that take the call and never answer (docs/specification.md#providers)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startAll({ providerBudgetMs: 1000 })
  })
  afterAll(() => server.close())

  /** All fail because the budget of the calls is used up, not because a single call takes too long. */
  async function expectAllFail() {
    const before = server.lines.length
    const targets = await Promise.all(rows.map(({ name, query }) => signInWith(server, name, query)))
    expect(targets.map(({ base, query }) => [base, query['error_code']])).toEqual(
      rows.map(() => ['https://app.example.com/', 'unexpected_failure']),
    )
    const failures = server.lines
      .slice(before)
      .filter(({ msg }) => msg === 'sign-in through a provider failed')
      .map(({ provider: name, error }) => [name, (error as Json)['message']])
    expect(failures.sort()).toEqual(rows.map(({ name }) => [name, 'the provider took too long']).sort())
  }

  it('the token call: each ends in an error on the site before the request is out of time', async () => {
    for (const row of rows) {
      setUp(provider, row)
      provider.answer(tokenRoute(row), 'hang')
    }
    await expectAllFail()
  })

  it('a profile call: the same', async () => {
    const withProfile = rows.filter((row) => profileRoutes(row).length > 0)
    for (const row of rows) {
      setUp(provider, row)
      // One provider has everything in its token answer.
      const [last = tokenRoute(row)] = profileRoutes(row).slice(-1)
      provider.answer(last, 'hang')
    }
    expect(withProfile.length).toBe(rows.length - 1)
    await expectAllFail()
  })
})

function expectRedeemed(row: Row): void {
  const { form, headers } = provider.last(tokenRoute(row))
  expect(headers['content-type']).toBe('application/x-www-form-urlencoded')
  expect(headers['accept']).toBe('application/json')
  expect(form).toMatchObject({ grant_type: 'authorization_code', code: 'the-code', redirect_uri: CALLBACK })
  if (row.basic) {
    const credentials = [CLIENT_ID, CLIENT_SECRET].map(encodeURIComponent).join(':')
    expect(headers['authorization']).toBe(`Basic ${Buffer.from(credentials).toString('base64')}`)
    expect(form).not.toHaveProperty('client_secret')
  } else {
    expect(headers['authorization']).toBeUndefined()
    expect(form).toMatchObject({ client_id: CLIENT_ID, client_secret: CLIENT_SECRET })
  }
}

function failuresOf(row: Row): Failure[] {
  const token = tokenRoute(row)
  const calls = profileRoutes(row)
  return [
    ['refuses the code', token, { status: 400, body: { error: 'invalid_grant' } }],
    ['refuses the code with status 200', token, { body: { error: 'bad_verification_code' } }],
    ['gives no access token', token, { body: {} }],
    ['breaks the token call', token, 'break'],
    ...calls.flatMap((route): Failure[] => [
      [`refuses ${route}`, route, { status: 403, body: { message: 'no' } }],
      [`answers ${route} with a page`, route, { body: '<html>' }],
      [`breaks ${route}`, route, 'break'],
    ]),
    ...calls.slice(0, 1).map((route): Failure => [`names nobody in ${route}`, route, json({})]),
  ]
}
