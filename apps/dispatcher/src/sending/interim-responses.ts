/** An interim response (RFC 9110 section 15.2). A 101 is final here: we never ask to switch protocols. */
const INTERIM = /^HTTP\/1\.\d 1(?!01)\d\d[ \r]/
/** Completes the beginning of a status line, to see what it can still become. */
const EXAMPLE = 'HTTP/1.1 100 '
const END_OF_HEAD = '\r\n\r\n'
/** As much as `undici` accepts as the head of a response. `undici` itself refuses a longer one. */
const MAX_HEAD_BYTES = 16 * 1024

/**
 * Leaves interim responses out of what `undici` reads from a connection until the final response begins: it takes an
 * unasked `100 Continue` for a broken response and closes the connection, while RFC 9110 section 15.2 has clients ignore
 * it.
 */
export class InterimFilter {
  #isBeforeFinal = false
  #held: Buffer | undefined

  /** Call it whenever a request is written to the connection. */
  expectResponse(): void {
    this.#isBeforeFinal = true
  }

  /** What the parser gets of a chunk; null when that depends on bytes that are yet to come, or nothing is left. */
  take(chunk: Buffer): Buffer | null {
    if (!this.#isBeforeFinal) return chunk
    let rest = this.#held ? Buffer.concat([this.#held, chunk]) : chunk
    this.#held = undefined
    while (isInterim(rest)) {
      const end = rest.indexOf(END_OF_HEAD)
      if (end === -1 && rest.length <= MAX_HEAD_BYTES) return this.#hold(rest)
      if (end === -1) break
      rest = rest.subarray(end + END_OF_HEAD.length)
      if (rest.length === 0) return null
    }
    this.#isBeforeFinal = false
    return rest
  }

  #hold(rest: Buffer): null {
    this.#held = rest
    return null
  }
}

function isInterim(bytes: Buffer): boolean {
  const line = bytes.toString('latin1', 0, EXAMPLE.length)
  return INTERIM.test(line + EXAMPLE.slice(line.length))
}
