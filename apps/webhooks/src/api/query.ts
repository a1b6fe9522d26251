import type { Request } from 'express'
import { badRequest } from '../errors/api-errors.js'

type NumberRule = { fallback: number; max?: number }

/** A whole number of the query by the rules of docs/specification.md#common-rules: over `max` it is `max`, anything odd is 400. */
export function numberParameter(
  req: Request,
  name: string,
  { fallback, max = Infinity }: NumberRule,
): number {
  const raw = textParameter(req, name)
  if (raw === undefined) return fallback
  if (!/^[0-9]{1,6}$/.test(raw) || Number(raw) === 0)
    throw badRequest(`${name} must be a whole number from 1 to 999999`)
  return Math.min(Number(raw), max)
}

/** A parameter that may be given once; undefined when it is absent. */
export function textParameter(req: Request, name: string): string | undefined {
  const raw = req.query[name]
  if (raw !== undefined && typeof raw !== 'string') throw badRequest(`${name} must be given once`)
  return raw
}
