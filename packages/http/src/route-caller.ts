import type { Request, Response } from 'express'
import { bodyChecker } from './body.js'
import type { ErrorRenderer } from './error-renderer.js'
import { contextOf, type RequestContext } from './request-context.js'
import type { Answer, Route } from './route.js'
import { runSteps } from './run-steps.js'

/** Replaces the path, the query and the body of a request. */
export type RouteCall = {
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  /** Undefined if there is no body. */
  body: Readonly<Record<string, unknown>> | undefined
}

/**
 * Runs a route for an interface other than its own path, such as a tool of an MCP server. It runs all steps of the route, in their
 * order, for the caller of the request that is being answered, whose credentials and address the steps see. Throws what they throw.
 */
export function routeCaller(
  spec: Route,
  errorRenderer: ErrorRenderer,
  { maxAnswerLength = Infinity } = {},
): (call: RouteCall, res: Response) => Promise<Answer> {
  const check = spec.body && bodyChecker(spec.body, errorRenderer)
  // The body is already there, so there is no wait after which to authenticate again.
  const { authenticateAgain: _, ...steps } = spec
  return async ({ params, query, body }, res) => {
    // Passes values on as they are, so nothing in them can become another path or another parameter.
    const req = Object.create(res.req, {
      method: { value: spec.method.toUpperCase() },
      params: { value: params },
      query: { value: query },
      body: { value: body },
    }) as Request
    const context = innerContext(contextOf(res), { route: spec.path, params, maxAnswerLength })
    const readBody = () => Promise.resolve(check?.(body))
    return (await runSteps(steps, { req, res, context }, readBody)) ?? {}
  }
}

/** The context of one call. A request may run several calls, and its own log line has other fields. */
const innerContext = (
  outer: RequestContext,
  own: Pick<RequestContext, 'route' | 'params' | 'maxAnswerLength'>,
): RequestContext => ({ ...own, requestId: outer.requestId, fields: {}, end: outer.end })
