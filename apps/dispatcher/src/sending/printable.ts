/** Bytes of an answer that are kept. */
const KEPT_BYTES = 1024

/** Control and format characters, which can change how the text around them looks, and line ends. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * The beginning of an answer as text that can be shown anywhere: control characters are written as `\n` or `\u001b`. Empty
 * when it is not UTF-8, so that nothing binary is kept.
 */
export function printable(bytes: Buffer): string {
  try {
    // A stream may end in the middle of a character.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      bytes.subarray(0, KEPT_BYTES),
      { stream: true },
    )
    return text.replace(UNPRINTABLE, escaped)
  } catch {
    return ''
  }
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
function escaped(character: string): string {
  const hex = character.codePointAt(0)?.toString(16) ?? ''
  return SHORT[character] ?? (hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`)
}

/** Collects the beginning of an answer. */
export class Excerpt {
  readonly #chunks: Buffer[] = []
  #length = 0

  get isFull(): boolean {
    return this.#length >= KEPT_BYTES
  }

  add(chunk: Buffer): void {
    if (this.isFull) return
    // A copy: the chunk is a view of a buffer that the parser uses again.
    this.#chunks.push(Buffer.from(chunk.subarray(0, KEPT_BYTES - this.#length)))
    this.#length += chunk.byteLength
  }

  toString(): string {
    return this.#length === 0 ? '' : printable(Buffer.concat(this.#chunks))
  }
}
