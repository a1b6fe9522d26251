import { isJsonObject } from './compact-token.js'
import { type NamedKey, type Report } from './jwk.js'

/** Reads a JSON array of JWKs or a JWK Set (`{"keys": […]}`); undefined if it is neither. Elements are not checked. */
export function readJwkList(json: string): unknown[] | undefined {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return undefined // the parser's own message quotes the text
  }
  const list = isJsonObject(value) ? value['keys'] : value
  return Array.isArray(list) ? list : undefined
}

/** Imports each JWK of a list; keys by `kid`. Problems name the position; a repeated `kid` is one, the first stays. */
export function importJwkList(
  list: readonly unknown[],
  importKey: (jwk: unknown, report: Report) => NamedKey | undefined,
  report: Report,
): Map<string, NamedKey> {
  const keys = new Map<string, NamedKey>()
  const firstUse = new Map<unknown, number>()
  for (const [index, jwk] of list.entries()) {
    const key = importKey(jwk, (problem) => report(`[${index}] ${problem}`))
    const kid = isJsonObject(jwk) ? jwk['kid'] : undefined
    if (kid === undefined) continue
    // Compared as written, so that a repeated kid is also seen beside an unusable key.
    const earlier = firstUse.get(kid)
    if (earlier !== undefined) report(`[${index}] has the same kid as [${earlier}]`)
    else firstUse.set(kid, index)
    if (key && earlier === undefined) keys.set(key.kid, key)
  }
  return keys
}

/** Whether a JWK of any quality asks to be the signing key. */
export function asksToSign(jwk: unknown): boolean {
  return isJsonObject(jwk) && Array.isArray(jwk['key_ops']) && jwk['key_ops'].includes('sign')
}

/** Whether a JWK of any quality carries the private part of an asymmetric key. */
export function hasPrivatePart(jwk: unknown): boolean {
  return isJsonObject(jwk) && Object.hasOwn(jwk, 'd')
}
