import type { Request } from 'express'

/** The version that requests at or after its date get (docs/specification.md#versions). */
export const API_VERSION = '2024-01-01'

/** Whether a request asks for the answers of 2024-01-01; missing, malformed and earlier dates ask for the initial ones. */
export function isVersioned(req: Request): boolean {
  const header = req.get('x-supabase-api-version') ?? ''
  return /^\d{4}-\d\d-\d\d$/.test(header) && isCalendarDate(header) && header >= API_VERSION
}

function isCalendarDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`)
  // The parser rolls 2024-02-30 over into March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}
