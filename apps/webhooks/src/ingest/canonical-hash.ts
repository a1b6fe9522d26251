import { createHash, type Hash } from 'node:crypto'
import { isWellFormed } from '../text/storable.js'
import { malformed } from './refused-body-error.js'

/** Deeper than any documented body. A fixed limit, because the limit of the stack would depend on the thread. */
const MAX_DEPTH = 100
const FLUSH_AT = 65_536

/**
 * SHA-256 of a parsed JSON value that does not depend on the order of members, white space, or how numbers and escapes are written: the
 * same content has the same hash (docs/specification.md#internal-api).
 */
export function canonicalHash(value: unknown): Buffer {
  const writer = new CanonicalWriter(createHash('sha256'))
  writer.value(value, 0)
  return writer.digest()
}

/**
 * Writes each string after its length, which needs no escaping. Escaping would take longer than the hash itself. Collects small pieces,
 * because every call into the hash takes longer than hashing a short string.
 */
class CanonicalWriter {
  #pending = ''
  /** Keys of the previous object: objects in a list usually have the same members. */
  #keys: readonly string[] = []
  #sortedKeys: readonly string[] = []
  readonly #hash: Hash

  constructor(hash: Hash) {
    this.#hash = hash
  }

  value(value: unknown, depth: number): void {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value !== 'object' || value === null) return this.#write(String(value))
    if (depth === MAX_DEPTH) throw malformed(`The body is nested more than ${MAX_DEPTH} levels deep`)
    if (Array.isArray(value)) {
      this.#write('[')
      for (const item of value) {
        this.value(item, depth + 1)
        this.#write(',')
      }
      return this.#write(']')
    }
    this.#write('{')
    const members = value as Record<string, unknown>
    for (const key of this.#sorted(Object.keys(members))) {
      this.#text(key)
      this.#write(':')
      this.value(members[key], depth + 1)
      this.#write(',')
    }
    this.#write('}')
  }

  digest(): Buffer {
    return this.#hash.update(this.#pending).digest()
  }

  #sorted(keys: readonly string[]): readonly string[] {
    const before = this.#keys
    if (keys.length === before.length && keys.every((key, i) => key === before[i])) return this.#sortedKeys
    this.#keys = keys
    this.#sortedKeys = [...keys].sort()
    return this.#sortedKeys
  }

  /** All lone surrogates have the same bytes in UTF-8, so text with any of them is written with escapes. */
  #text(text: string): void {
    if (isWellFormed(text)) this.#write(`"${text.length}"${text}`)
    else this.#write(JSON.stringify(text).replace('"', "'"))
  }

  #write(text: string): void {
    this.#pending += text
    if (this.#pending.length < FLUSH_AT) return
    this.#hash.update(this.#pending)
    this.#pending = ''
  }
}
