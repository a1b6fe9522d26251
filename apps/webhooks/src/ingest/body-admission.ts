import { AppError } from '@signet/errors'
import { type Request, type Response } from 'express'

/** Bodies up to here are parsed at once, in about a millisecond. Larger ones go to a thread. */
export const SMALL_BODY_BYTES = 65_536
/** Each of them may take 32 MiB while it waits for its thread. */
const MAX_LARGE_BODIES = 16

/** Takes part in a request before its body is read; throws `unavailable` when there is no room for a large one. */
export type BodyAdmission = (req: Request, res: Response) => void

/** Bounds the memory that bodies take together. Small ones are never refused. */
export function bodyAdmission(maxLargeBodies = MAX_LARGE_BODIES): BodyAdmission {
  let taken = 0
  return (req, res) => {
    if (isSmall(req)) return
    if (taken >= maxLargeBodies) {
      throw new AppError('unavailable', 'unavailable', 'Too many large bodies at once, try again later', {
        retryAfterSeconds: 5,
      })
    }
    taken++
    res.once('close', () => taken--)
  }
}

/** Without a length, or compressed, a body may turn out to be any size. */
function isSmall({ headers }: Request): boolean {
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined) return false
  return Number(headers['content-length'] ?? 0) <= SMALL_BODY_BYTES
}
