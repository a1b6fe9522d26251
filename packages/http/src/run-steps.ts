import type { Request, Response } from 'express'
import type { RequestContext } from './request-context.js'
import type { Answer, Route } from './route.js'

type Exchange = { req: Request; res: Response; context: RequestContext }

/** The one order of the steps of every route: limit, authenticate, guard, read the body, handle. */
export async function runSteps(
  spec: Route,
  { req, res, context }: Exchange,
  readInput: (req: Request, res: Response) => Promise<unknown>,
): Promise<Answer | void> {
  await spec.limit?.(req, context)
  const caller = await spec.authenticate?.(req, context)
  await spec.guard?.({ caller, req, res, context })
  const body = await readInput(req, res)
  return spec.handle({
    caller,
    body,
    req,
    res,
    context,
    get signal() {
      return context.signal
    },
  })
}
