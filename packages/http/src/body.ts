import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isAppError } from '@signet/errors'
import express, { type Request, type RequestHandler, type Response } from 'express'
import type { BodyProblem, ErrorRenderer } from './error-renderer.js'
import type { BodySpec } from './route.js'
import { isPercentEncodedUtf8 } from './percent-encoding.js'
import { readBytes } from './read-bytes.js'
import { contextOf } from './request-context.js'
import { compileSchema } from './schema.js'

/** Reads, parses and validates bodies of one kind; created once per route. Throws the error renderer's body error. */
export function bodyReader(
  spec: BodySpec,
  errorRenderer: ErrorRenderer,
): (req: Request, res: Response) => Promise<unknown> {
  const parse = parserOf(spec)
  const isUnparsed = UNPARSED.has(spec.as)
  const check = bodyChecker(spec, errorRenderer)
  const refuse = (problem: BodyProblem) => errorRenderer.bodyError(problem)

  return async (req, res) => {
    if (isEmpty(req)) {
      if (!spec.optional) throw refuse(MISSING)
    } else if (!contentTypeFits(req, spec.as)) {
      throw refuse({ kind: 'content_type', message: `The content type must be ${CONTENT_TYPE[spec.as]}` })
    } else {
      await parse(req, res).catch((error: unknown) => {
        if (isAppError(error)) throw error
        const problem = parserProblem(error)
        if (problem.kind !== 'missing' || !spec.optional) throw refuse(problem)
      })
    }
    if (isUnparsed) return req.body as Buffer
    const value = check(req.body)
    // The request stays in memory until it is answered, and must not keep what `prepare` dropped.
    if (req.body !== undefined) req.body = value
    return value
  }
}

/** Validates parsed bodies; undefined is an absent one. */
export function bodyChecker(spec: BodySpec, errorRenderer: ErrorRenderer): (parsed: unknown) => object {
  const validate = spec.schema && !UNPARSED.has(spec.as) ? compileSchema(spec.schema) : () => null
  return (parsed) => {
    if (parsed === undefined && !spec.optional) throw errorRenderer.bodyError(MISSING)
    const given = parsed === undefined ? {} : parsed
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw errorRenderer.bodyError({ kind: 'malformed', message: 'The body must be an object' })
    const value = spec.prepare ? spec.prepare(given as Record<string, unknown>) : given
    const problem = validate(value)
    if (problem) throw errorRenderer.bodyError(problem)
    return value
  }
}

const MISSING: BodyProblem = { kind: 'missing', message: 'A request body is required' }

const UNPARSED: ReadonlySet<BodySpec['as']> = new Set(['json-bytes', 'ndjson-bytes'])

export const CONTENT_TYPE = {
  json: 'application/json',
  'any-json': 'application/json',
  'json-or-form': 'application/json',
  'json-bytes': 'application/json',
  'ndjson-bytes': 'application/x-ndjson',
  form: 'application/x-www-form-urlencoded',
}

// Without a length and chunked encoding, the request has no body (RFC 9112 section 6.3).
const isEmpty = (req: Request) =>
  req.headers['transfer-encoding'] === undefined && Number(req.headers['content-length'] ?? 0) === 0

function contentTypeFits(req: Request, as: BodySpec['as']): boolean {
  return as === 'any-json' || as === 'json-or-form' || req.is(CONTENT_TYPE[as]) !== false
}

function parserOf(spec: BodySpec): (req: Request, res: Response) => Promise<void> {
  if (UNPARSED.has(spec.as)) return bytesReader(spec)
  const handler = parserHandler(spec.as, spec.maxBytes)
  return (req, res) =>
    new Promise((resolve, reject) => {
      void handler(req, res, (error?: unknown) => {
        if (error === undefined) resolve()
        else reject(error instanceof Error ? error : new Error('body parser failed', { cause: error }))
      })
    })
}

function bytesReader({ as, maxBytes, makeRoom }: BodySpec) {
  // Each NDJSON line is valid or invalid on its own; the code that splits the lines checks them.
  const verify = as === 'ndjson-bytes' ? refuseEmpty : refuseUnreadable
  return async (req: Request, res: Response): Promise<void> => {
    const { end } = contextOf(res)
    const bytes = await readBytes(req, { maxBytes, end, makeRoom })
    verify(req, res, bytes)
    req.body = bytes
  }
}

function parserHandler(as: BodySpec['as'], maxBytes: number): RequestHandler {
  if (as === 'form')
    return express.urlencoded({ extended: false, limit: maxBytes, parameterLimit: 200, verify: refuseNoForm })
  const verify = refuseUnreadable
  const json = express.json({ type: () => true, limit: maxBytes, strict: false, verify })
  return as === 'json-or-form'
    ? jsonOrForm(json, express.text({ type: () => true, limit: maxBytes, verify }))
    : json
}

/** Many tools send JSON with the content type of forms by default, so the text decides. */
function jsonOrForm(json: RequestHandler, text: RequestHandler): RequestHandler {
  return (req, res, next) => {
    if (req.is(CONTENT_TYPE.form) === false) return json(req, res, next)
    return text(req, res, (error?: unknown) => {
      if (error !== undefined) return next(error)
      const body = String(req.body).trim()
      try {
        if (body.startsWith('{')) req.body = JSON.parse(body) as unknown
        else {
          refuseEncoding(body)
          req.body = Object.fromEntries(new URLSearchParams(body))
        }
        next()
      } catch (malformed) {
        next(malformed)
      }
    })
  }
}

const EMPTY = 'entity.empty'

function refuseUnreadable(req: IncomingMessage, res: unknown, bytes: Buffer): void {
  refuseEmpty(req, res, bytes)
  refuseNoText(req, res, bytes)
}

// An empty chunked body reaches the parser, which would read it as `{}`.
function refuseEmpty(_req: IncomingMessage, _res: unknown, bytes: Buffer): void {
  if (bytes.length === 0) throw Object.assign(new Error('empty body'), { type: EMPTY })
}

// The parsers would replace every invalid byte with U+FFFD, so that two different passwords could become the same.
function refuseNoText(req: IncomingMessage, _res: unknown, bytes: Buffer): void {
  // A parser that knows other encodings would decode them; JSON and forms are UTF-8 (RFC 8259 section 8.1).
  if (/charset *= *["']?utf-?(16|32)/i.test(req.headers['content-type'] ?? ''))
    throw Object.assign(new Error('not UTF-8'), { type: 'charset.unsupported' })
  if (!isUtf8(bytes)) throw Object.assign(new Error('not UTF-8'), { type: NOT_UTF8 })
}

const NOT_UTF8 = 'encoding.not-utf8'

function refuseNoForm(req: IncomingMessage, res: unknown, bytes: Buffer): void {
  refuseNoText(req, res, bytes)
  refuseEncoding(bytes.toString('latin1'))
}

function refuseEncoding(form: string): void {
  if (!isPercentEncodedUtf8(form)) throw Object.assign(new Error('not UTF-8'), { type: NOT_UTF8 })
}

function parserProblem(error: unknown): BodyProblem {
  const type = String((error as { type?: unknown }).type)
  if (type === 'entity.too.large' || type === 'parameters.too.many')
    return { kind: 'too_large', message: 'The body is too large' }
  if (type === EMPTY) return MISSING
  if (type === 'charset.unsupported' || type === 'encoding.unsupported')
    return { kind: 'content_type', message: 'The encoding of the body is not supported' }
  if (type === NOT_UTF8) return { kind: 'malformed', message: 'The body is not valid UTF-8' }
  return { kind: 'malformed', message: 'The body could not be parsed' }
}
