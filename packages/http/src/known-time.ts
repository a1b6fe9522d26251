import type { Request, RequestHandler } from 'express'

type KnownTime = {
  clock: { adjust(): Promise<void> }
  /** False until the time has been read from the database. */
  isTimeKnown: () => boolean
}

/**
 * Refuses requests until the time is known. A service that started without its database knows only its machine's clock, which may be
 * wrong: a token could expire too early, or an event could get a date in the future. Until then, each request asks the database for the
 * time, and fails with the database's error if there is no answer. Requests that neither decide nor store anything, such as those of
 * probes, are exempt.
 */
export const atKnownTime =
  ({ clock, isTimeKnown }: KnownTime, isExempt: (req: Request) => boolean = () => false): RequestHandler =>
  (req, _res, next) => {
    if (isTimeKnown() || isExempt(req)) next()
    else clock.adjust().then(() => next(), next)
  }
