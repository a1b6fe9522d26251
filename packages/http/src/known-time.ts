import type { Request, RequestHandler } from 'express'

type KnownTime = {
  clock: { adjust(): Promise<void> }
  /** False until the database has told the time. */
  isTimeKnown: () => boolean
}

/**
 * Refuses requests until the time is known. A service that started without its database knows only the clock of its machine, which may be
 * wrong: a token would end too early, an event would be dated in the future. Each request asks the database for the time, and fails with the
 * error of the database if there is no answer. Requests that neither decide nor store anything, such as those of probes, are exempt.
 */
export const atKnownTime =
  ({ clock, isTimeKnown }: KnownTime, isExempt: (req: Request) => boolean = () => false): RequestHandler =>
  (req, _res, next) => {
    if (isTimeKnown() || isExempt(req)) next()
    else clock.adjust().then(() => next(), next)
  }
