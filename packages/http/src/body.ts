import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isAppError } from '@signet/errors'
import type { Request, Response } from 'express'
import type { BodyProblem, ErrorRenderer } from './error-renderer.js'
import type { BodySpec } from './route.js'
import { formPairs, NotUtf8Error } from './form.js'
import { failure, readBytes } from './read-bytes.js'
import { contextOf } from './request-context.js'
import { compileSchema } from './schema.js'

/**
 * Returns a function that reads, parses and validates bodies of one kind; create it once per route. It throws the error renderer's body
 * error.
 */
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
    // The request stays in memory until it is answered, and must not keep alive what `prepare` dropped.
    if (req.body !== undefined) req.body = value
    return value
  }
}

/** Returns a function that validates parsed bodies; undefined means that there is no body. */
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

// With neither a length nor a transfer encoding, the request has no body (RFC 9112 section 6.3).
const isEmpty = (req: Request) =>
  req.headers['transfer-encoding'] === undefined && Number(req.headers['content-length'] ?? 0) === 0

function contentTypeFits(req: Request, as: BodySpec['as']): boolean {
  return as === 'any-json' || as === 'json-or-form' || req.is(CONTENT_TYPE[as]) !== false
}

/** Returns a function that reads a whole body and sets `req.body` to its bytes or to the parsed value. */
function parserOf({ as, maxBytes, makeRoom }: BodySpec): (req: Request, res: Response) => Promise<void> {
  const read = PARSERS[as]
  return async (req, res) => {
    const { end } = contextOf(res)
    const bytes = await readBytes(req, { maxBytes, end, makeRoom })
    // An empty chunked body gets here, and does not count as `{}`.
    if (bytes.length === 0) throw failure(EMPTY)
    req.body = read(bytes, req)
  }
}

const PARSERS: Readonly<Record<BodySpec['as'], (bytes: Buffer, req: Request) => unknown>> = {
  json: parseJson,
  'any-json': parseJson,
  'json-or-form': parseJsonOrForm,
  'json-bytes': (bytes, req) => (textOf(bytes, req, UTF8), bytes),
  // Lines are valid or invalid individually, so the code that splits them checks them.
  'ndjson-bytes': (bytes) => bytes,
  form: (bytes, req) => parseForm(textOf(bytes, req, UTF8_OR_ASCII)),
}

function parseJson(bytes: Buffer, req: IncomingMessage): unknown {
  return JSON.parse(textOf(bytes, req, UTF8))
}

/** Many tools send JSON with the content type of forms by default, so this looks at the text to decide. */
function parseJsonOrForm(bytes: Buffer, req: Request): unknown {
  if (req.is(CONTENT_TYPE.form) === false) return parseJson(bytes, req)
  const text = textOf(bytes, req, UTF8_OR_ASCII).trim()
  return text.startsWith('{') ? JSON.parse(text) : parseForm(text)
}

const MAX_PARAMETERS = 200

/** A repeated parameter becomes an array, which none of our schemas accepts. */
function parseForm(text: string): Record<string, unknown> {
  if (text.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS) throw failure('parameters.too.many')
  const values = new Map<string, string | string[]>()
  for (const [name, value] of formPairs(text)) {
    const before = values.get(name)
    values.set(name, before === undefined ? value : [before, value].flat())
  }
  return Object.fromEntries(values)
}

const UTF8 = /^utf-?8$/i
/** Forms are ASCII with percent-encoded UTF-8, regardless of which of these charsets a client names. */
const UTF8_OR_ASCII = /^(utf-?8|us-ascii|iso-8859-1)$/i
const CHARSET = /;\s*charset\s*=\s*["']?([^\s;"']+)/i
const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Decodes a body. JSON and forms are UTF-8 (RFC 8259 section 8.1), and invalid bytes are rejected: decoding would replace each with
 * U+FFFD, so that two different passwords could become the same.
 */
function textOf(bytes: Buffer, { headers }: IncomingMessage, charsets: RegExp): string {
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !charsets.test(charset)) throw failure('charset.unsupported')
  if (!isUtf8(bytes)) throw failure(NOT_UTF8)
  const text = bytes.toString()
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

const EMPTY = 'entity.empty'

const NOT_UTF8 = 'encoding.not-utf8'

function parserProblem(error: unknown): BodyProblem {
  const type = String((error as { type?: unknown }).type)
  if (type === 'entity.too.large' || type === 'parameters.too.many')
    return { kind: 'too_large', message: 'The body is too large' }
  if (type === EMPTY) return MISSING
  if (type === 'charset.unsupported' || type === 'encoding.unsupported')
    return { kind: 'content_type', message: 'The encoding of the body is not supported' }
  if (type === NOT_UTF8 || error instanceof NotUtf8Error)
    return { kind: 'malformed', message: 'The body is not valid UTF-8' }
  return { kind: 'malformed', message: 'The body could not be parsed' }
}
