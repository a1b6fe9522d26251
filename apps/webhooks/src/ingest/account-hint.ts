const SEARCHED_BYTES = 2048
// Inside of a string the quotes would have backslashes before them.
const ACCOUNT_ID = /"account_id"\s*:\s*"([0-9A-Fa-f-]{36})"/

/**
 * Whom a notice is probably for, without reading it: the id stands at its beginning or at its end in whatever callers send. Good
 * for taking turns and for nothing else; what cannot be told shares a turn.
 */
export function accountHint(bytes: Buffer): string {
  const head = bytes.toString('latin1', 0, SEARCHED_BYTES)
  const found = ACCOUNT_ID.exec(head) ?? ACCOUNT_ID.exec(bytes.subarray(-SEARCHED_BYTES).toString('latin1'))
  return found?.[1]?.toLowerCase() ?? ''
}
