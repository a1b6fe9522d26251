import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'

export interface KeyAndCertificate {
  key: string
  cert: string
}

/** A certificate authority of one machine. Clients that should trust its servers get `cert`, never `key`. */
export interface Authority extends KeyAndCertificate {
  /** File with `cert`, where there is one: for NODE_EXTRA_CA_CERTS. */
  certFile?: string
}

const DAY_MS = 24 * 60 * 60 * 1000
const AUTHORITY_DAYS = 3650
/** Some clients refuse server certificates that are valid for longer. */
const SERVER_DAYS = 397
const COMMON = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const
export const LOOPBACK = ['localhost', '127.0.0.1', '::1']

/** Loaded on demand, because it brings some 250 files. */
const selfsigned = () => import('selfsigned')

/** Makes a new authority, in memory only. */
export async function createAuthority(): Promise<Authority> {
  const { generate } = await selfsigned()
  const made = await generate([{ name: 'commonName', value: 'Signet local development authority' }], {
    ...COMMON,
    ...validFor(AUTHORITY_DAYS),
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  return { key: made.private, cert: made.cert }
}

/** The authority kept in a folder; made on first use, so that a browser told to trust it once keeps doing so. */
export async function loadAuthority(folder: string): Promise<Authority> {
  const keyFile = join(folder, 'ca-key.pem')
  const certFile = join(folder, 'ca.pem')
  if (existsSync(keyFile) && existsSync(certFile)) {
    return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8'), certFile }
  }
  const authority = await createAuthority()
  mkdirSync(folder, { recursive: true })
  writeFileSync(certFile, authority.cert)
  writeFileSync(keyFile, authority.key, { mode: 0o600 })
  return { ...authority, certFile }
}

/** A server certificate, signed by the authority, for DNS names and IP addresses. */
export async function issueCertificate(
  authority: KeyAndCertificate,
  hosts: readonly string[] = LOOPBACK,
): Promise<KeyAndCertificate> {
  const { generate } = await selfsigned()
  const made = await generate([{ name: 'commonName', value: hosts[0] ?? 'localhost' }], {
    ...COMMON,
    ...validFor(SERVER_DAYS),
    ca: { key: authority.key, cert: authority.cert },
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
  return { key: made.private, cert: made.cert }
}

/** Begins a day ago: the clock of a container may be a little behind. */
function validFor(days: number): { notBeforeDate: Date; notAfterDate: Date } {
  const now = Date.now()
  return { notBeforeDate: new Date(now - DAY_MS), notAfterDate: new Date(now + days * DAY_MS) }
}
