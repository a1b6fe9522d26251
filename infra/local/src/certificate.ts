import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { SelfsignedOptions } from 'selfsigned'

/** A certificate authority for one machine. Clients that should trust its servers get `cert`, never `key`. */
export type Authority = Awaited<ReturnType<typeof createAuthority>>

/** Days from now. By default, validity starts a day ago, because the clock of a container may be a little behind. */
type Validity = { days: number; from?: number }

const DAY_MS = 24 * 60 * 60 * 1000
const AUTHORITY_DAYS = 3650
/** Some clients reject server certificates that are valid for longer. */
const SERVER_DAYS = 397
export const LOOPBACK = ['localhost', '127.0.0.1', '::1']

/** Creates a new authority, in memory only. */
export const createAuthority = () =>
  generate(
    'Signet local development authority',
    { days: AUTHORITY_DAYS },
    {
      extensions: [
        { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ],
    },
  )

/**
 * Loads the authority that is kept in a folder. Creates it on first use, so that a browser that was told to trust it continues to do
 * so.
 */
export async function loadAuthority(folder: string): Promise<Authority> {
  const keyFile = join(folder, 'ca-key.pem')
  const certFile = join(folder, 'ca.pem')
  if (existsSync(keyFile) && existsSync(certFile)) {
    return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
  }
  const authority = await createAuthority()
  mkdirSync(folder, { recursive: true })
  writeFileSync(certFile, authority.cert)
  writeFileSync(keyFile, authority.key, { mode: 0o600 })
  return authority
}

/** Issues a server certificate, signed by the authority, for DNS names and IP addresses, that is valid for the given number of days. */
export const issueCertificate = (
  ca: Authority,
  hosts: readonly string[] = LOOPBACK,
  validity: Validity = { days: SERVER_DAYS },
) =>
  generate(hosts[0] ?? 'localhost', validity, {
    ca,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) => (isIP(host) ? { type: 7, ip: host } : { type: 2, value: host })),
      },
    ],
  })

async function generate(commonName: string, { days, from = -1 }: Validity, options: SelfsignedOptions) {
  const selfsigned = await import('selfsigned') // on demand, because it brings some 250 files
  const now = Date.now()
  const made = await selfsigned.generate([{ name: 'commonName', value: commonName }], {
    ...{ keyType: 'ec', curve: 'P-256', algorithm: 'sha256' },
    ...{ notBeforeDate: new Date(now + from * DAY_MS), notAfterDate: new Date(now + days * DAY_MS) },
    ...options,
  })
  return { key: made.private, cert: made.cert }
}
