import type { BodyProblem } from '@signet/http'

/** A body that cannot be accepted. Not an AppError, because worker threads must pass it on as a plain value. */
export class RefusedBodyError extends Error {
  override name = 'RefusedBodyError'

  constructor(readonly problem: BodyProblem) {
    super(problem.message)
  }
}

export const malformed = (message: string): RefusedBodyError =>
  new RefusedBodyError({ kind: 'malformed', message })

export const tooLarge = (message: string): RefusedBodyError =>
  new RefusedBodyError({ kind: 'too_large', message })
