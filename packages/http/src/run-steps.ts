import type { Request, Response } from 'express'
import type { RequestContext } from './request-context.js'
import { requestTimeout } from './request-end.js'
import type { Answer, Route } from './route.js'

type Exchange = { req: Request; res: Response; context: RequestContext }

/** The one order of the steps of every route: limit, authenticate, guard, read the body, authenticate again, handle. */
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
  // The client was told that it took too long, or has disconnected: the request must not take effect after that.
  if (context.end.isOver) throw requestTimeout(context.end)
  return spec.handle({ caller, body, req, res, context })
}
