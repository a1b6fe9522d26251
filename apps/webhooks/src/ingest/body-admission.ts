import { AppError } from '@signet/errors'
import type { RequestContext } from '@signet/http'
import type { Request } from 'express'

/** Bodies up to here are parsed at once, in about a millisecond. Larger ones go to a thread. */
export const SMALL_BODY_BYTES = 65_536
/** Maximum size of a body (docs/specification.md#internal-api). */
export const MAX_BODY_BYTES = 32 * 1024 * 1024
/** Maximum total size of the large bodies that are being read, queued for a thread or parsed in one. */
const BUDGET_BYTES = 16 * MAX_BODY_BYTES

/** Takes part in a request before its body is read; throws `unavailable` when the budget is used up. */
export type BodyAdmission = (
  req: Request,
  context: { end: Pick<RequestContext['end'], 'isGone' | 'onceGone'> },
) => void

/** Bounds the memory that bodies take together. Small ones are never refused. */
export function bodyAdmission(budgetBytes = BUDGET_BYTES): BodyAdmission {
  let taken = 0
  return (req, { end }) => {
    const bytes = bytesAtMost(req)
    if (bytes <= SMALL_BODY_BYTES) return
    if (taken + bytes > budgetBytes) {
      throw new AppError('unavailable', 'unavailable', 'Too many large bodies at once, try again later', {
        retryAfterSeconds: 5,
      })
    }
    // The client has left, and nothing would give them back.
    if (end.isGone) return
    taken += bytes
    end.onceGone(() => (taken -= bytes))
  }
}

/** Without a length, or compressed, a body may turn out to be any size; one that is too long is refused and never read. */
function bytesAtMost({ headers }: Request): number {
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined)
    return MAX_BODY_BYTES
  return Math.min(Number(headers['content-length'] ?? 0), MAX_BODY_BYTES)
}
