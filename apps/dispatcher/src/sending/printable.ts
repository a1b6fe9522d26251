/** Bytes of an answer that are kept. */
const KEPT_BYTES = 1024

/** Control and format characters, which can change how the text around them looks, and line ends. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The share of characters that may be something other than text. In random bytes read as UTF-8, it is nearly half. */
const MAX_NOISE = 0.25
const NOISE = /[\ufffd\p{Cc}]/gu
const LINE_ENDS_AND_TABS = /[\r\n\t]/g

/**
 * The beginning of an answer as text that can be shown anywhere: control characters are written as `\n` or `\u001b`, bytes that
 * are not of the charset become U+FFFD. Empty when it is mostly such bytes, so that nothing binary is kept.
 */
export function printable(bytes: Buffer, contentType = ''): string {
  const kept = bytes.subarray(0, KEPT_BYTES)
  // A stream may end in the middle of a character.
  const text = decoderFor(contentType).decode(kept, { stream: true })
  return isText(text) ? text.replace(UNPRINTABLE, escaped) : ''
}

/** Decodes the charset that the receiver names; UTF-8 if that is unknown (decision 0234). */
function decoderFor(contentType: string) {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType) ?? []
  try {
    return new TextDecoder(charset, { ignoreBOM: true })
  } catch {
    return new TextDecoder('utf-8', { ignoreBOM: true })
  }
}

function isText(text: string): boolean {
  if (!text.includes('\ufffd')) return true
  const noise = text.replace(LINE_ENDS_AND_TABS, '').match(NOISE)?.length ?? 0
  return noise <= text.length * MAX_NOISE
}

const SHORT: ReadonlyMap<string, string> = new Map(Object.entries({ '\n': '\\n', '\r': '\\r', '\t': '\\t' }))
function escaped(character: string): string {
  const hex = character.codePointAt(0)?.toString(16) ?? ''
  return SHORT.get(character) ?? (hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`)
}

/** Collects the beginning of an answer. */
export class Excerpt {
  contentType = ''
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
    return this.#length === 0 ? '' : printable(Buffer.concat(this.#chunks), this.contentType)
  }
}
