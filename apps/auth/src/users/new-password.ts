import { AppError } from '@signet/errors'
import { authError, invalid } from '../errors/auth-error.js'
import { checkPassword, type PasswordRules } from '../passwords/password-rules.js'

/** `validation_failed`. Pages have their own text for it, because it is not about the address. */
export class PasswordTooLongError extends AppError {
  constructor(message: string) {
    super('invalid', 'validation_failed', message)
  }
}

/** Refuses an unacceptable new password (docs/specification.md#passwords): 400 when too long, 422 when weak. */
export function refusePassword(rules: PasswordRules, password: string): void {
  const problem = checkPassword(rules, password)
  if (problem === null) return
  if (problem.kind === 'too_long') throw new PasswordTooLongError(problem.message)
  throw authError('unprocessable', 'weak_password', problem.message, {
    details: { weak_password: { reasons: problem.reasons } },
  })
}

/** Many requests may leave out the password, but an empty one is a field that was not filled in. */
export function refuseEmpty(password: string | undefined): void {
  if (password === '') throw invalid('The password must not be empty; leave it out to set none')
}

/** Where the strength rules do not apply, bcrypt's limit still does, because it ignores all bytes beyond that. */
export function refuseTooLong(rules: PasswordRules, password: string): void {
  const problem = checkPassword(rules, password)
  if (problem?.kind === 'too_long') throw new PasswordTooLongError(problem.message)
}
