const SECRET_KEY =
  /^(authorization|cookie|set-cookie|x-api-key|apikey)$|password|passwd|secret|(^|_)token(s|_hash)?$|[a-z]Token$|^(code|otp|nonce|csrf|verifier|private_?key|auth_?code)$|code_?verifier|_nonce$|_otp$/i
// In linear time: what begins like a JWT ends where it ends, whether or not all parts follow.
const SECRET_TEXT =
  /\b(?:sv[acrsp]_[0-9A-Za-z]{8,}|whsec_[0-9A-Za-z+/_-]{8,}=*|eyJ[0-9A-Za-z_-]{6,}(?:\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]*)?)|\b(?:Bearer|Basic)\s+[0-9A-Za-z._~+/=-]{8,}|(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:)[^\s/]+(?=@)/gi
/** Every alternative of SECRET_TEXT contains one of these. Most strings contain none and need no further check. */
const SECRET_HINT = /sv[acrsp]_|whsec_|eyJ|bearer|basic|:\/\//i
const HIDDEN = '[redacted]'
const MAX_DEPTH = 6

/**
 * Copies a log record without secrets. Hides members with a secret-sounding name, and removes token-shaped text from every string, so
 * that a caller who logs too much leaks nothing. Errors become `{name, message, code?, stack}`.
 */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '[deep]'
  if (value instanceof Error) return redactError(value, depth)
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  return redactMembers(value as Record<string, unknown>, depth)
}

/** Copies member by member into an object of the same shape, because every request's line passes through here. */
function redactMembers(value: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const member = value[key]
    copy[key] = isSecretKey(key) && member !== undefined ? HIDDEN : redact(member, depth + 1)
  }
  return copy
}

const redactText = (text: string): string =>
  SECRET_HINT.test(text) ? text.replace(SECRET_TEXT, HIDDEN) : text

const MAX_KNOWN_KEYS = 1000
const knownKeys = new Map<string, boolean>()

/** Caches results, because log lines repeat the same few keys. */
function isSecretKey(key: string): boolean {
  const known = knownKeys.get(key)
  if (known !== undefined) return known
  const secret = SECRET_KEY.test(key)
  if (knownKeys.size < MAX_KNOWN_KEYS) knownKeys.set(key, secret)
  return secret
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const { code } = error as { code?: unknown }
  return {
    name: error.name,
    message: redactText(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { error_code: code } : {}),
    stack: redactText(error.stack ?? ''),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
  }
}
