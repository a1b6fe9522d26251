import type { SharedClock } from '@signet/db'
import type { RequestHandler } from 'express'

export type KnownTime = {
  clock: Pick<SharedClock, 'adjust'>
  /** False until the database has told the time. */
  isTimeKnown: () => boolean
}

/**
 * A server that started without its database knows only the time of its machine, and that may be wrong. Until the database has told the
 * time, each request asks, and fails if there is no answer; the probes of operators do not decide or store anything.
 */
export const atKnownTime =
  ({ clock, isTimeKnown }: KnownTime): RequestHandler =>
  (req, _res, next) => {
    if (isTimeKnown() || isProbe(req)) next()
    else clock.adjust().then(() => next(), next)
  }

export const isProbe = ({ path }: { path: string }): boolean => path === '/health' || path === '/readyz'
