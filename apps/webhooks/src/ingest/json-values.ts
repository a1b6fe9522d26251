const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACE = 0x7b
const BRACKET = 0x5b

/**
 * Returns whether UTF-8 JSON text contains more than `limit` values, without building any of them. A heap limit cannot replace this:
 * when memory runs out inside `JSON.parse`, V8 aborts the whole process instead of the thread.
 */
export function hasMoreValuesThan(limit: number, bytes: Uint8Array): boolean {
  let values = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at)
    // Each comma and each opening bracket is followed by at most one value (a member's name does not count).
    else if (byte === COMMA || byte === BRACE || byte === BRACKET) {
      values += 1
      if (values > limit) return true
    }
  }
  return false
}

/** Position of the quote that ends the string beginning at `start`. If there is none, a position past the end. */
function endOfString(bytes: Uint8Array, start: number): number {
  let end = bytes.indexOf(QUOTE, start + 1)
  while (end !== -1 && isEscaped(bytes, end)) end = bytes.indexOf(QUOTE, end + 1)
  return end === -1 ? bytes.length : end
}

function isEscaped(bytes: Uint8Array, quote: number): boolean {
  let backslashes = 0
  while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1
  return backslashes % 2 === 1
}
