import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { anEmail, call, expectError, get, post, type CallOptions, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const admin: CallOptions = { token: serviceToken() }

describe('GET /admin/users and /admin/audit', () => {
  let server: TestServer
  const emails: string[] = []
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    const empty = await get(server, '/admin/users', admin)
    expect(empty.headers.get('link')).toBe('</admin/users?page=0&per_page=50>; rel="last"')
    expect(empty.headers.get('x-total-count')).toBe('0')
    for (let index = 0; index < 5; index += 1) {
      const email = `person${index}-${anEmail()}`
      emails.push(email)
      await post(
        server,
        '/admin/users',
        { email, user_metadata: { full_name: `Person Nr ${index}%` } },
        admin,
      )
      server.clock.advance(1000)
    }
  })
  afterAll(() => server.close())
  const list = async (query: string) => {
    const answer = await get(server, `/admin/users${query}`, admin)
    return { ...answer, emails: ((answer.body['users'] ?? []) as Json[]).map(({ email }) => email) }
  }

  it('lists newest first, with the audience, total and links in the form that the client reads', async () => {
    const first = await list('?page=1&per_page=2')
    expect(first.body['aud']).toBe('authenticated')
    expect(first.emails).toEqual([emails[4], emails[3]])
    expect(first.headers.get('x-total-count')).toBe('5')
    expect(first.headers.get('link')).toBe(
      '</admin/users?page=2&per_page=2>; rel="next", </admin/users?page=3&per_page=2>; rel="last"',
    )
    const last = await list('?page=3&per_page=2')
    expect(last.emails).toEqual([emails[0]])
    expect(last.headers.get('link')).toBe('</admin/users?page=3&per_page=2>; rel="last"')
    expect((await list('?page=&per_page=')).emails).toHaveLength(5)
  })

  it('sorts by created_at either way and filters by email or full name, literally', async () => {
    expect((await list('?sort=created_at+asc')).emails).toEqual(emails)
    expect((await list('?sort=created_at%20desc')).emails).toEqual([...emails].reverse())
    expect((await list('?filter=PERSON3-')).emails).toEqual([emails[3]])
    const byName = await list(`?filter=${encodeURIComponent('nr 2%')}`)
    expect(byName.emails).toEqual([emails[2]])
    expect(byName.headers.get('x-total-count')).toBe('1')
    expect((await list('?filter=%25_%25')).emails).toEqual([])
  })

  it('links to pages of the same list', async () => {
    const filtered = await list('?filter=person%2C&per_page=1&sort=created_at+asc')
    expect(filtered.headers.get('link')).toBe(
      '</admin/users?page=0&per_page=1&sort=created_at%20asc&filter=person%2C>; rel="last"',
    )
    const first = await list('?filter=Person+Nr&per_page=2&sort=created_at+asc')
    const next = /^<([^>]*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect((await list(next.slice('/admin/users'.length))).emails).toEqual([emails[2], emails[3]])
    const audited = await get(server, '/admin/audit?query=action:signedup&per_page=2', admin)
    expect(audited.headers.get('link')).toContain('</admin/audit?page=2&per_page=2&query=action%3Asignedup>')
    const long = await list(`?filter=${'x'.repeat(3000)}`)
    expect([long.status, long.headers.get('link')]).toEqual([200, null])
  })

  it.each(['?page=x', '?page=-1', '?per_page=1.5', '?sort=email', '?sort=created_at+sideways'])(
    'refuses %s',
    async (query) => {
      expectError(await list(query), 400, 'validation_failed')
    },
  )

  it.each(['/admin/users', '/admin/audit'])('shows at most 1000 entries of %s a page', async (path) => {
    const answer = await get(server, `${path}?per_page=1001`, admin)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('link')).toContain('&per_page=1000>')
  })

  it('keeps count through deletions and rolled back creations', async () => {
    const { body } = await post(server, '/admin/users', { email: anEmail() }, admin)
    server.clock.advance(1000)
    expect((await list('')).headers.get('x-total-count')).toBe('6')
    expectError(await post(server, '/admin/users', { email: emails[0] }, admin), 422, 'email_exists')
    await call(server, 'DELETE', `/admin/users/${String(body['id'])}`, admin)
    expect((await list('')).headers.get('x-total-count')).toBe('5')
  })

  it('shows the audit log, newest first, searched by author, action or type', async () => {
    const audit = (query: string) => get(server, `/admin/audit${query}`, admin)
    const all = await audit('?per_page=2')
    const entries = all.body as unknown as Json[]
    expect(entries).toHaveLength(2)
    expect(entries[0]).toEqual({
      id: expect.any(String) as unknown,
      created_at: expect.any(String) as unknown,
      ip_address: '127.0.0.1',
      payload: {
        actor_id: '00000000-0000-0000-0000-000000000000',
        actor_username: 'service_role',
        actor_via_sso: false,
        action: 'user_deleted',
        log_type: 'team',
        traits: {
          user_id: expect.any(String) as unknown,
          user_email: expect.any(String) as unknown,
          user_phone: '',
        },
      },
    })
    expect(all.headers.get('link')).toContain('</admin/audit?page=2&per_page=2>; rel="next"')
    const actions = async (query: string) =>
      ((await audit(query)).body as unknown as { payload: { action: string } }[]).map(
        ({ payload }) => payload.action,
      )
    expect(await actions('?query=action:deleted')).toEqual(['user_deleted'])
    expect(await actions('?query=author:nobody')).toEqual([])
    expect(new Set(await actions('?query=type:team'))).toEqual(new Set(['user_deleted', 'user_signedup']))
    expectError(await audit('?query=payload:x'), 400, 'validation_failed')
    expectError(await audit('?query=x'), 400, 'validation_failed')
  })

  it('counts ten thousand entries of the audit log, and beyond them one more than the page ends with', async () => {
    await server.context.db.query(
      `insert into audit_log_entries (payload, ip_address, created_at)
       select jsonb_build_object('action', 'many', 'log_type', 'long'), '', $1 from generate_series(1, 10300)`,
      [server.clock.now()],
    )
    const audit = async (page: number) => {
      const { headers } = await get(server, `/admin/audit?query=type:long&per_page=100&page=${page}`, admin)
      return [headers.get('x-total-count'), headers.get('link')?.includes('rel="next"')]
    }
    expect(await audit(1)).toEqual(['10000', true])
    expect(await audit(100)).toEqual(['10001', true])
    expect(await audit(103)).toEqual(['10300', false])
  })

  it('does not count the audit log for the operator page', async () => {
    const { operators, stores } = server.context
    const [list, count] = [jest.spyOn(stores.auditLists, 'list'), jest.spyOn(stores.auditLists, 'count')]
    await operators.auditLog('')
    const calls = [list.mock.calls.length, count.mock.calls.length]
    list.mockRestore()
    count.mockRestore()
    expect(calls).toEqual([1, 0])
  })
})
