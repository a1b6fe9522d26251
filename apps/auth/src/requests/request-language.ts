import { preferredLanguage, type Language } from '@signet/language'
import type { Request } from 'express'

/** The language that the application asked for with `ui_locales`, or that the browser prefers. */
export function requestLanguage(req: Request): Language {
  const fields: unknown = req.method === 'POST' ? req.body : req.query
  const asked = isFields(fields) ? fields['ui_locales'] : undefined
  const uiLocales = typeof asked === 'string' ? asked : undefined
  return preferredLanguage({ uiLocales, acceptLanguage: req.get('accept-language') })
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
