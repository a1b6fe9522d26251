import { parseSigningKey } from '@signet/standard-webhooks'
import { importJwks, KeySet, parseJwks } from '@signet/jwt'
import { parseUrl } from '@signet/address-guard/parse-url'
import { parseAllowListEntry } from '../redirects/redirect-allow-list.js'

/** A caller of the internal API, with the SHA-256 of its token, never the token itself. */
export type ServiceToken = { readonly name: string; readonly digest: Buffer }

// Error messages never repeat the value, because some of these are secrets.

export function parseServiceTokens(raw: string): readonly ServiceToken[] {
  const tokens = items(raw).map((item) => {
    const [, name = '', hex = ''] = /^([\w-]{1,64}):([0-9a-f]{64})$/i.exec(item) ?? []
    if (name === '') throw new Error('must be name:hex of the SHA-256 of the token')
    return { name, digest: Buffer.from(hex, 'hex') }
  })
  if (tokens.length === 0) throw new Error('must name at least one caller')
  return tokens
}

export function allowListEntry(entry: string): string {
  parseAllowListEntry(entry)
  return entry
}

export function resourceIdentifier(value: string): string {
  if (parseUrl(value) === null || !/^https?:\/\/[^/]/i.test(value) || /[\p{Cc}\s\\#]/u.test(value))
    throw new Error('must be absolute http or https URLs without fragment')
  return value
}

export function origin(value: string): string {
  if (parseUrl(value)?.origin !== value) throw new Error('must be origins such as https://app.example')
  return value
}

export function clientId(value: string): string {
  if (!/^svcl_[0-9A-Za-z]+$/.test(value)) throw new Error('must be client ids')
  return value
}

export function parseSigningKeys(raw: string): readonly Buffer[] {
  const keys = items(raw).map(parseSigningKey)
  if (keys.length === 0) throw new Error('must name at least one secret')
  return keys
}

/** Parses public keys, one of which each token must name. Rejects symmetric and private keys, which do not belong here. */
export function parsePublicKeys(raw: string): KeySet {
  const jwks = parseJwks(raw)
  if (jwks === undefined) throw new Error('must be a JSON array of JWKs or {"keys": […]}')
  if (jwks.length === 0) throw new Error('must list at least one key')
  const { keys, problems } = importJwks(jwks)
  if (keys.some(({ alg }) => alg === 'HS256') || jwks.some(isPrivate))
    problems.push('must be public keys: none symmetric or with a private part')
  if (problems.length > 0) throw new Error(problems.join('; '))
  return new KeySet(keys)
}

const isPrivate = (jwk: unknown) => typeof jwk === 'object' && jwk !== null && Object.hasOwn(jwk, 'd')

const items = (raw: string) =>
  raw
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
