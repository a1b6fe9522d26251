const SECRET_KEY =
  /^(authorization|cookie|set-cookie|x-api-key|apikey)$|password|passwd|secret|(^|_)token(s|_hash)?$|[a-z]Token$|^(code|otp|nonce|csrf|verifier|private_?key|auth_?code)$|code_?verifier|_nonce$|_otp$/i
const SECRET_TEXT =
  /\b(?:sv[acrsp]_[0-9A-Za-z]{8,}|whsec_[0-9A-Za-z_-]{8,}|eyJ[0-9A-Za-z_-]{6,}\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]*)|\b(?:Bearer|Basic)\s+[0-9A-Za-z._~+/=-]{8,}|(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:)[^\s@/]+(?=@)/gi
const HIDDEN = '[redacted]'
const MAX_DEPTH = 6

/**
 * A copy of a log record without secrets: members whose name means a secret are hidden, and token-shaped text is cut
 * out of every string, so that a caller who logs too much does not leak. Errors become `{name, message, code?, stack}`.
 */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(SECRET_TEXT, HIDDEN)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '[deep]'
  if (value instanceof Error) return redactError(value, depth)
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      SECRET_KEY.test(key) && member !== undefined ? HIDDEN : redact(member, depth + 1),
    ]),
  )
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const { code } = error as { code?: unknown }
  return {
    name: error.name,
    message: redact(error.message, depth),
    ...(typeof code === 'string' || typeof code === 'number' ? { error_code: code } : {}),
    stack: redact(error.stack ?? '', depth),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
  }
}
