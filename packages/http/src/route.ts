import type { Request, Response } from 'express'
import type { BodySoFar } from './read-bytes.js'
import type { RequestContext } from './request-context.js'
import type { JsonSchema } from './schema.js'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/**
 * How a body is read. `json`: by content type; `any-json`: JSON regardless of the content type; `form`:
 * `application/x-www-form-urlencoded`; `json-bytes`: the unparsed bytes of JSON as a Buffer, for handlers that parse
 * and check large bodies off the event loop (`schema` only documents); `ndjson-bytes`: the same for NDJSON. `optional`: empty is `{}`.
 */
export type BodySpec = {
  as: 'json' | 'any-json' | 'json-or-form' | 'form' | 'json-bytes' | 'ndjson-bytes'
  maxBytes: number
  schema?: JsonSchema
  optional?: boolean
  /** For bytes only. Called whenever something arrives. Reading pauses until the promise resolves; a rejection refuses the body. */
  makeRoom?: (soFar: BodySoFar) => Promise<void> | undefined
  /** Runs between parsing and validation, e.g. to drop null members. Must not modify its argument. */
  prepare?: (value: Record<string, unknown>) => Record<string, unknown>
}

export type HandlerInput<Caller, Body> = {
  caller: Caller
  body: Body
  req: Request
  res: Response
  context: RequestContext
}

/** The response of a handler. By default, status 204 without a body. An object is sent as JSON. */
export type Answer = { status?: number; headers?: Record<string, string>; body?: unknown }

export type ParameterDoc = {
  name: string
  in: 'query' | 'header' | 'path'
  required?: boolean
  schema: JsonSchema
  description?: string
}

/**
 * `read` changes nothing. `add` creates something new with each call. `restore` repairs something. `replace` overwrites what was there.
 * `remove` takes something away, and further calls do nothing. `renew` takes something away with each call.
 */
export type Effect = 'read' | 'add' | 'restore' | 'replace' | 'remove' | 'renew'

/** Without a schema, the response has no body, or one without a fixed shape. */
export type ResponseDoc = {
  description: string
  schema?: JsonSchema
  mediaType?: string
  /** Browsers get it as an HTML page. */
  orPage?: boolean
  /** Used instead of the example that the schema's own examples make. */
  example?: unknown
  headers?: Readonly<Record<string, { description: string; required?: boolean; schema: JsonSchema }>>
  /** Operations that can be called with values from the response, and which member of the body each of their parameters takes. */
  links?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** Details for the OpenAPI document beyond method, path and body. */
export type RouteDocs = {
  /** Unique in its document, a camelCase verb and noun: the name of the function in generated clients. */
  operationId: string
  summary: string
  description?: string
  tag: string
  /** Names of the security schemes, any one of which is sufficient; empty for a public route. */
  security?: readonly string[]
  parameters?: readonly ParameterDoc[]
  /** What a call does, for tool hosts that ask a person first. If it is absent, the route is not offered as a tool. */
  effect?: Effect
  /** Describes the body if the handler checks more than the `schema` of `body` says. */
  body?: JsonSchema
  /** Used instead of the example that the schema's own examples make. */
  bodyExample?: unknown
  /** By status. A schema may be a `$ref` to the document's components. */
  responses: Readonly<Record<number, ResponseDoc>>
}

export type RouteSpec<Caller, Body> = {
  method: Method
  /** Express path, e.g. `/v1/webhooks/:endpoint_id`. Also the label of logs, metrics and traces. */
  path: string
  docs: RouteDocs
  /** Steps in this order: `limit`, `authenticate`, `guard`, then the body is read, `authenticateAgain`, `handle`. */
  limit?: (req: Request, context: RequestContext) => Promise<void> | void
  authenticate?: (req: Request, context: RequestContext) => Promise<Caller> | Caller
  /**
   * Checks the credential again once the body has arrived. One that is still valid must not count against limits again; one that is no
   * longer valid is a failure like any other. A client can withhold a body for as long as a request may take, and a credential that was
   * revoked in the meantime must not take effect.
   */
  authenticateAgain?: (req: Request, context: RequestContext) => Promise<Caller> | Caller
  /** For errors that take precedence over a bad body, such as 404 for the resource in the path. */
  guard?(input: {
    caller: Caller
    req: Request
    res: Response
    context: RequestContext
  }): Promise<void> | void
  body?: BodySpec
  handle(input: HandlerInput<Caller, Body>): Promise<Answer | void> | Answer | void
}

/** A route with its types erased, so that routes with different callers and bodies fit in one list (decision 0080). */
export type Route = RouteSpec<unknown, unknown>

export function route<Caller = undefined, Body = undefined>(spec: RouteSpec<Caller, Body>): Route {
  return spec
}
