import type { Request, Response } from 'express'
import type { RequestContext } from './request-context.js'
import { requestTimeout } from './request-end.js'
import type { Answer, Route } from './route.js'

type Exchange = { req: Request; res: Response; context: RequestContext }

/**
 * Runs the steps of a route in the order that applies to all routes: limit, authenticate, guard, read the body, authenticate again,
 * handle.
 */
export async function runSteps(
  spec: Route,
  { req, res, context }: Exchange,
  readInput: (req: Request, res: Response) => Promise<unknown>,
): Promise<Answer | void> {
  await spec.limit?.(req, context)
  const admitted = await spec.authenticate?.(req, context)
  await spec.guard?.({ caller: admitted, req, res, context })
  context.end.awaitsBody = true
  const body = await readInput(req, res)
  context.end.awaitsBody = false
  const caller = spec.body && spec.authenticateAgain ? await spec.authenticateAgain(req, context) : admitted
  // The client was told that the request took too long, or has disconnected, so the request must not take effect anymore.
  if (context.end.isOver) throw requestTimeout(context.end)
  return spec.handle({ caller, body, req, res, context })
}
