export const SEARCHED_BYTES = 2048
// Inside a string, the quotes would be preceded by backslashes.
const ACCOUNT_ID = /"account_id"\s*:\s*"([0-9A-Fa-f-]{36})"/

/**
 * Returns the account that a notice is probably for, without parsing it: callers send the id at its start or at its end. Use it only
 * for taking turns. Notices without a hint share one turn.
 */
export function accountHint(bytes: Buffer): string {
  const head = bytes.toString('latin1', 0, SEARCHED_BYTES)
  const found = ACCOUNT_ID.exec(head) ?? ACCOUNT_ID.exec(bytes.subarray(-SEARCHED_BYTES).toString('latin1'))
  return found?.[1]?.toLowerCase() ?? ''
}
