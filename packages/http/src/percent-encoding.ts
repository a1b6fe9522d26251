import { isUtf8 } from 'node:buffer'

/**
 * Returns whether all percent-encoded bytes of a query or form are UTF-8, the only encoding that either may have. Parsers replace
 * invalid bytes with U+FFFD, so that different values become the same.
 */
export const isPercentEncodedUtf8 = (text: string): boolean =>
  !HAS_NON_ASCII.test(text) ||
  (text.match(RUN) ?? []).every((run) => isUtf8(Buffer.from(run.replaceAll('%', ''), 'hex')))

const HAS_NON_ASCII = /%[89a-f][0-9a-f]/i
/** Matches one run of encoded bytes. Bytes of one character are always in the same run. */
const RUN = /(?:%[0-9a-f]{2})+/gi

/** The part of a request target after the question mark. */
export function queryOf(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}
