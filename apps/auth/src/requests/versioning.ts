import type { Request } from 'express'

/** The version for requests that name its date or a later one (docs/specification.md#versions). */
export const API_VERSION = '2024-01-01'

/** Whether a request asks for the answers of 2024-01-01. A missing, malformed or earlier date means the initial version. */
export function isVersioned(req: Request): boolean {
  const header = req.get('x-supabase-api-version') ?? ''
  return /^\d{4}-\d\d-\d\d$/.test(header) && isCalendarDate(header) && header >= API_VERSION
}

function isCalendarDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`)
  // The parser turns 2024-02-30 into a day in March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}
