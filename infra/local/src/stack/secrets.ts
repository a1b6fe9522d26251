import { createHash, createHmac, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Secrets of one developer's machine. They are random, created once, and never leave the data folder. */
export const newSecrets = () => ({
  jwtSecret: randomBytes(48).toString('base64url'),
  /** Encrypts the webhooks' signing secrets. */
  encryptionKey: randomBytes(32).toString('base64'),
  internalToken: randomBytes(32).toString('base64url'),
  adminToken: randomBytes(32).toString('base64url'),
  /** Signs the account events that the identity server sends to the webhooks API. */
  eventsSecret: `whsec_${randomBytes(32).toString('base64')}`,
})

export type LocalSecrets = ReturnType<typeof newSecrets>

export function loadSecrets(file: string): LocalSecrets {
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<LocalSecrets>) : {}
  // Adds secrets that a file from an earlier version lacks. The others stay, so that encrypted data remains readable.
  const secrets: LocalSecrets = { ...newSecrets(), ...kept }
  writeFileSync(file, JSON.stringify(secrets, null, 2), { mode: 0o600 })
  return secrets
}

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex')

/** An admin JWT of the identity server, which the webhooks API uses to ask about accounts. It does not expire. */
export function serviceRoleToken(jwtSecret: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ role: 'service_role', aud: 'authenticated' })}`
  return `${input}.${createHmac('sha256', jwtSecret).update(input).digest('base64url')}`
}
