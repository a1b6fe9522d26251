import { createHash, type Hash } from 'node:crypto'
import { malformed } from './refused-body-error.js'

/** Deeper than any documented body; a limit of our own because the stack's would depend on the thread. */
const MAX_DEPTH = 100
const FLUSH_AT = 65_536

/**
 * SHA-256 of a parsed JSON value that does not depend on the order of members, white space or the spelling of numbers
 * and escapes: the same content gives the same hash (docs/specification.md#internal-api).
 */
export function canonicalHash(value: unknown): Buffer {
  const writer = new HashWriter(createHash('sha256'))
  writeValue(writer, value, 0)
  return writer.digest()
}

function writeValue(out: HashWriter, value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return out.write(JSON.stringify(value))
  if (depth === MAX_DEPTH) throw malformed(`The body is nested more than ${MAX_DEPTH} levels deep`)
  if (Array.isArray(value)) {
    out.write('[')
    for (const item of value) {
      writeValue(out, item, depth + 1)
      out.write(',')
    }
    return out.write(']')
  }
  out.write('{')
  const members = value as Record<string, unknown>
  for (const key of Object.keys(members).sort()) {
    out.write(`${JSON.stringify(key)}:`)
    writeValue(out, members[key], depth + 1)
    out.write(',')
  }
  out.write('}')
}

/** Gathers small pieces, because every call into the hash costs more than a short string does. */
class HashWriter {
  #pending = ''
  readonly #hash: Hash

  constructor(hash: Hash) {
    this.#hash = hash
  }

  write(text: string): void {
    this.#pending += text
    if (this.#pending.length < FLUSH_AT) return
    this.#hash.update(this.#pending)
    this.#pending = ''
  }

  digest(): Buffer {
    return this.#hash.update(this.#pending).digest()
  }
}
