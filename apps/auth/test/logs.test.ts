import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { aUser, anEmail, call, get, mailTo, PASSWORD, post, put } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ LOG_LEVEL: 'debug', REQUEST_ID_HEADER: 'X-Correlation-Id' })
})
afterAll(() => server.close())

it('every line logged during a request has its request id, also under parallel requests', async () => {
  const ids = Array.from({ length: 10 }, (_, index) => `sign-up-${index}`)
  const emails = new Map(ids.map((id) => [id, anEmail()]))
  const before = server.lines.length
  await Promise.all(
    ids.map((id) =>
      post(
        server,
        '/signup',
        { email: emails.get(id), password: PASSWORD },
        { headers: { 'X-Correlation-Id': id } },
      ),
    ),
  )
  const lines = server.lines.slice(before)
  expect(lines.filter(({ request_id: id }) => !ids.includes(String(id)))).toEqual([])
  for (const id of ids) {
    const own = lines.filter(({ request_id: of }) => of === id)
    // Lines that the server logs only once belong to one of the requests, too.
    expect(own.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['audit', 'request']))
    const audits = own.filter(({ msg }) => msg === 'audit')
    expect(audits).toHaveLength(1)
    expect(audits[0]).toMatchObject({ actor_username: emails.get(id) })
  }
})

it('a full run logs no password, token, code or link, even at the most verbose level', async () => {
  const hidden: string[] = [PASSWORD, 'n3w-passw0rd', 'wr0ng-passw0rd']
  const { email, access_token: first, refresh_token: firstRefresh } = await aUser(server)
  const signedIn = await post(server, '/token?grant_type=password', { email, password: PASSWORD })
  await post(server, '/token?grant_type=password', { email, password: 'wr0ng-passw0rd' })
  const { refresh_token: refresh } = signedIn.body as { refresh_token: string }
  const refreshed = await post(server, '/token?grant_type=refresh_token', { refresh_token: refresh })
  const token = String(refreshed.body['access_token'])
  await post(server, '/recover', { email })
  const recovery = await mailTo(server, email, { id: 1 })
  await get(server, `/verify?type=recovery&token=${recovery.token}`)
  await post(server, '/verify', { type: 'recovery', email, token: recovery.code })
  await put(server, '/user', { password: 'n3w-passw0rd', data: { note: 'pr1vate-note' } }, { token })
  const factor = await post(server, '/factors', { factor_type: 'totp' }, { token })
  const admin = serviceToken()
  const link = await post(server, '/admin/generate_link', { type: 'magiclink', email }, { token: admin })
  await call(server, 'POST', '/logout?scope=global', { token })
  await get(server, '/user', { token })
  await post(server, '/token?grant_type=refresh_token', { refresh_token: firstRefresh })

  const { secret } = factor.body['totp'] as { secret: string }
  const { hashed_token: hashed, email_otp: otp } = link.body as { hashed_token: string; email_otp: string }
  hidden.push(first, firstRefresh, refresh, token, admin, secret, hashed, otp, 'pr1vate-note')
  hidden.push(recovery.token ?? '', recovery.code ?? '', String(refreshed.body['refresh_token']))
  const log = JSON.stringify(server.lines)
  expect(server.lines.length).toBeGreaterThan(15)
  for (const secretText of hidden) {
    expect(secretText.length).toBeGreaterThan(5)
    expect(log.includes(secretText) ? secretText : null).toBeNull()
  }
})
