import type { AppError } from '@signet/errors'
import { authError } from '../errors/auth-error.js'
import { TOO_MANY } from '../failed-proofs/failed-proofs.js'
import type { Factor } from '../users/user.js'

export const factorFirst = () =>
  authError('forbidden', 'insufficient_aal', 'AAL2 required to verify another factor')

const WRONG = {
  totp: { text: 'Invalid TOTP code entered', reason: 'wrong_code' },
  phone: { text: 'Invalid MFA Phone code entered', reason: 'wrong_code' },
  webauthn: { text: 'This security key could not be verified', reason: 'wrong_answer' },
} as const

export const wrongAnswer = ({ factorType }: Factor): AppError =>
  authError('unprocessable', 'mfa_verification_failed', WRONG[factorType].text)

/** The secret of an authenticator app was sealed with another AUTH_JWT_SECRET (docs/keys.md#changing-auth_jwt_secret). */
export const unreadableFactor = ({ status }: Factor): AppError =>
  authError(
    'unprocessable',
    'mfa_verification_rejected',
    status === 'verified'
      ? 'Codes of this authenticator app can no longer be verified. An administrator has to remove it; then it can be enrolled again'
      : 'Codes of this authenticator app can no longer be verified. Enroll it again',
  )

export const isUnreadable = ({ code }: AppError): boolean => code === 'mfa_verification_rejected'

/**
 * What the audit log says about a refused answer. An answer that was not even compared is recorded once an hour for the subject `once`, so
 * that a flood does not fill the log.
 */
export function entryOf({ factorType }: Factor, refusal: AppError): { reason: string; once: string | null } {
  if (isUnreadable(refusal)) return { reason: 'unreadable_secret', once: 'unreadable factor' }
  if (refusal.kind === 'limited') return { reason: TOO_MANY, once: 'factor' }
  return { reason: WRONG[factorType].reason, once: null }
}
