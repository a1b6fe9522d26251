import { invalid } from '../errors/auth-error.js'

const MAX_DEPTH = 32

/** PostgreSQL stores neither NUL nor lone surrogates, and code that recurses over JSON must not overflow the stack. */
export function refuseUnstorable(body: object): void {
  let level: unknown[] = [body]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) throw invalid(`The request is nested deeper than ${MAX_DEPTH} levels`)
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value === 'string') refuseText(value)
      else if (typeof value === 'object' && value !== null) {
        if (!Array.isArray(value)) Object.keys(value).forEach(refuseText)
        for (const member of Object.values(value)) next.push(member)
      }
    }
    level = next
  }
}

function refuseText(text: string): void {
  if (text.includes('\0') || /\p{Surrogate}/u.test(text))
    throw invalid('The request contains invalid characters')
}
