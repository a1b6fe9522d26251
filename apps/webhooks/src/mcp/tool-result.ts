import type { CallToolResult } from '@modelcontextprotocol/server'
import type { AppError, ErrorKind } from '@signet/errors'
import type { Answer } from '@signet/http'
import type { Request } from 'express'
import { badRequest } from '../errors/api-errors.js'
import { v1ErrorRenderer } from '../http/v1-error-renderer.js'

/** Has room for one event of the target size. A longer result would not help a model, and would be in memory several times. */
export const MAX_RESULT_LENGTH = 2 * 1024 * 1024

/** A route's response as text, for models and older clients, and as structured content. Throws if it is too long for a tool. */
export function toolResult({ body }: Answer): CallToolResult {
  const json = typeof body === 'string' ? body : JSON.stringify(body)
  if (json.length > MAX_RESULT_LENGTH) throw tooLong()
  const value: unknown = typeof body === 'string' ? JSON.parse(body) : body
  if (!Array.isArray(value)) return { content: [{ type: 'text', text: json }], structuredContent: value }
  return { content: [{ type: 'text', text: `{"items":${json}}` }], structuredContent: { items: value } }
}

/** Shorter results are so small that an account may have as many of them as it may make calls. */
const LONG = 64 * 1024

export const isLong = ({ content }: CallToolResult): boolean =>
  content.some((part) => part.type === 'text' && part.text.length > LONG)

const tooLong = () =>
  badRequest(
    `The response has more than the ${MAX_RESULT_LENGTH} characters that a tool may return: ask for fewer entries, or use the HTTP API`,
  )

/**
 * An error of /v1 as the result of a tool, which the model reads and may act on. Contains only text, because structured content would
 * have to match the schema of a success.
 */
export function toolError(error: AppError, req: Request): CallToolResult {
  const { body } = v1ErrorRenderer.render(error, req) as { body: { error: object } }
  const { retryAfterSeconds } = error
  const told = {
    ...body.error,
    ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: Math.ceil(retryAfterSeconds) }),
    what_to_do: whatToDo(error),
  }
  return { isError: true, content: [{ type: 'text', text: JSON.stringify({ error: told }) }] }
}

function whatToDo({ kind, retryAfterSeconds }: AppError): string {
  if (retryAfterSeconds !== undefined) return `Wait ${Math.ceil(retryAfterSeconds)} seconds, then call again`
  return WHAT_TO_DO[kind] ?? 'Check the current state before you call again'
}

const WHAT_TO_DO: Partial<Record<ErrorKind, string>> = {
  invalid: 'Correct the arguments, then call again',
  not_found: 'Use an id that a list tool returned for this account',
  conflict: 'Get the current state; the message says what prevents the change',
  limited: 'The account has reached its limit: delete one first',
  unauthenticated: 'Ask the person to connect again',
  forbidden: 'Ask the person to connect again',
}
