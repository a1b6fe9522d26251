import { tooLarge } from './refused-body-error.js'

const NEWLINE = 0x0a
/** The results of all lines must fit into the buffers of a connection whose client reads slowly. */
export const MAX_LINES = 1000

/** Returns the NDJSON lines that are not blank, without copying them. Newlines inside JSON texts are always escaped. */
export function linesOf(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline === -1 ? bytes.length : newline
    const line = bytes.subarray(start, end)
    if (line.some((byte) => !isBlank(byte))) lines.push(line)
    if (lines.length > MAX_LINES) throw tooLarge(`A batch has at most ${MAX_LINES} lines`)
    start = end + 1
  }
  return lines
}

/** Matches space, tab and the carriage return of CRLF. */
const isBlank = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0d
