import { preferredLanguage } from '@signet/language'
import type { Request } from 'express'
import { uiTextsIn, type UiTexts } from '../texts.js'

/** The texts for whoever sent a request: in the language that the application asked for, or that the browser prefers. */
export function textsFor(req: Request): UiTexts {
  const fields: unknown = req.method === 'POST' ? req.body : req.query
  const asked = isFields(fields) ? fields['ui_locales'] : undefined
  const uiLocales = typeof asked === 'string' ? asked : undefined
  return uiTextsIn(preferredLanguage({ uiLocales, acceptLanguage: req.get('accept-language') }))
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
