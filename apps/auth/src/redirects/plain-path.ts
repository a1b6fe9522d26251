/** Paths that were encoded more often than this are refused. */
const MAX_ENCODINGS = 8
/** Characters that begin another part or segment of a URL, or its parameters, and dots, which change a path. */
const DELIMITERS = /[/\\?#;.\p{Cc}]/gu
const PERCENT_ALONE = /%(?![0-9a-f]{2})/gi
/** Java servers remove `;` and the rest of the segment, which leaves a `..` that goes up. */
const DOTS_WITH_PARAMETERS = /(^|\/)\.{1,2};/

/**
 * Whether a wildcard may match the path: every later server must see the same segments in it as a browser does, no matter how often it
 * decodes the path. So nothing may decode to a delimiter, or to bytes that are not UTF-8: some servers read overlong encodings, such as
 * `%c0%af`, as slashes.
 */
export function isPlainPath(path: string): boolean {
  if (DOTS_WITH_PARAMETERS.test(path)) return false
  let seen = path
  for (let time = 0; time < MAX_ENCODINGS; time += 1) {
    // A percent sign may only stand alone if it was encoded itself.
    const decoded = decode(time === 0 ? seen : seen.replace(PERCENT_ALONE, '%25'))
    if (decoded === seen) return true
    if (decoded === null || delimitersOf(decoded) !== delimitersOf(seen)) return false
    seen = decoded
  }
  return false
}

const delimitersOf = (path: string): string => path.match(DELIMITERS)?.join('') ?? ''

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path)
  } catch {
    return null
  }
}
