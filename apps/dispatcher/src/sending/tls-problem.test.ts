import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { afterEach, beforeAll, expect, it } from '@jest/globals'
import { AddressGuard, guardedAgent } from '@signet/address-guard'
import { createAuthority, issueCertificate, type Authority } from '@signet/local'
import { post } from './http-sender.js'
import { tlsProblemOf } from './tls-problem.js'

const opened: Server[] = []
let authority: Authority
beforeAll(async () => {
  authority = await createAuthority()
})
afterEach(() => {
  for (const server of opened.splice(0)) server.close()
})

/** Makes an attempt at a server on this machine, and returns what it finds. Without `ca`, it trusts the authorities that Node trusts. */
async function attemptAt(server: Server, ca?: string) {
  opened.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const agent = guardedAgent({
    guard: new AddressGuard({ allowPrivateTargets: true }),
    ca,
    connectTimeoutMs: 60_000,
  })
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const exchange = post(agent, { url, headers: {}, body: Buffer.from('{}') }, 60_000)
  const result = await exchange.answered
  await agent.destroy()
  return { ...result, problem: exchange.facts().tls_problem }
}

const failed = (problem: string) => ({ kind: 'failed', error: 'tls_error', problem })
const tlsServer = (options: TlsOptions) => createTlsServer(options).on('tlsClientError', () => {})
const HOSTS = ['127.0.0.1']

it.each([
  ['certificate_expired', HOSTS, { from: -9, days: -1 }],
  ['certificate_not_yet_valid', HOSTS, { from: 1, days: 9 }],
  ['certificate_for_other_host', ['hook.example.com'], { days: 9 }],
] as const)('knows a %s', async (problem, hosts, validity) => {
  const server = tlsServer(await issueCertificate(authority, hosts, validity))
  expect(await attemptAt(server, authority.cert)).toEqual(failed(problem))
})

it('knows a certificate of an unknown issuer, with and without that of the issuer', async () => {
  const { key, cert } = await issueCertificate(authority, HOSTS)
  const found = [
    await attemptAt(tlsServer({ key, cert })),
    await attemptAt(tlsServer({ key, cert: `${cert}\n${authority.cert}` })),
  ]
  expect(found).toEqual(found.map(() => failed('certificate_of_unknown_issuer')))
})

it.each<[string, TlsOptions]>([
  ['over a finite field', { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' }],
  ['over a finite field, with TLS 1.3', { minVersion: 'TLSv1.3', ecdhCurve: 'ffdhe2048' }],
  [
    'over another curve',
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256', ecdhCurve: 'secp256k1' },
  ],
  ['with a client certificate', { requestCert: true, maxVersion: 'TLSv1.2' }],
])('knows a server that shakes hands only %s', async (_, options) => {
  const server = tlsServer({ ...(await issueCertificate(authority, HOSTS)), ...options })
  expect(await attemptAt(server, authority.cert)).toEqual(failed('handshake_refused'))
})

it('knows a server without TLS', async () => {
  const server = createServer((socket) =>
    socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  )
  expect(await attemptAt(server)).toEqual(failed('no_tls'))
})

const withCode = (code: string) => Object.assign(new Error(''), { code })

it('finds the code of an error that others wrap, and leaves out what it does not know', () => {
  const expired = withCode('CERT_HAS_EXPIRED')
  const wrapped = new Error('failed', { cause: new AggregateError([expired]) })
  expect(tlsProblemOf(wrapped)).toBe('certificate_expired')
  expect(tlsProblemOf(withCode('DEPTH_ZERO_SELF_SIGNED_CERT'))).toBe('certificate_self_signed')
  expect(tlsProblemOf(withCode('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'))).toBe('handshake_refused')
  expect(tlsProblemOf(withCode('ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'))).toBe('handshake_refused')
  expect(tlsProblemOf(withCode('ERR_SSL_BAD_SIGNATURE'))).toBeUndefined()
  expect(tlsProblemOf(null)).toBeUndefined()
})
