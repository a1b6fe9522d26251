import { AppError, isAppError, type AppErrorOptions, type ErrorKind } from '@signet/errors'
import type { ErrorCode } from './error-codes.js'

/** An error of this API; its code comes from the table, so every code is documented. */
export const authError = (
  kind: ErrorKind,
  code: ErrorCode,
  message: string,
  options?: AppErrorOptions,
): AppError => new AppError(kind, code, message, options)

/** 400 `validation_failed`, the most frequent error. */
export const invalid = (message: string): AppError => authError('invalid', 'validation_failed', message)

/** 403 `otp_expired`: the same answer for wrong, used, expired and unknown secrets (docs/specification.md#types-of-a-message). */
export const otpExpired = (): AppError =>
  authError('forbidden', 'otp_expired', 'Token has expired or is invalid')

/** 422 `email_exists` or `phone_exists`: another account has this address. */
export const addressExists = (kind: 'email' | 'phone'): AppError =>
  kind === 'email'
    ? authError('unprocessable', 'email_exists', 'A user with this email address has already been registered')
    : authError('unprocessable', 'phone_exists', 'A user with this phone number has already been registered')

export const isAddressExists = (error: unknown): boolean =>
  isAppError(error) && (error.code === 'email_exists' || error.code === 'phone_exists')

export const userBanned = (kind: 'invalid' | 'forbidden'): AppError =>
  authError(kind, 'user_banned', 'User is banned')

/** 403: all that the owner may do is keep the account (docs/specification.md#deletion-by-the-owner). */
export const deletionPending = (): AppError =>
  authError(
    'forbidden',
    'account_deletion_pending',
    'This account is about to be deleted. Sign in on the account page to keep it.',
  )

/** 401, as clients of this protocol expect: signing in again with the second factor helps. */
export const insufficientAal = (): AppError =>
  authError(
    'unauthenticated',
    'insufficient_aal',
    'AAL2 session is required to update email or password when MFA is enabled.',
  )

/** 429 for a message requested too soon after the last one (docs/specification.md#rate-limits). */
export function tooSoon(
  code: 'over_email_send_rate_limit' | 'over_sms_send_rate_limit',
  msLeft: number,
): AppError {
  const seconds = Math.max(1, Math.ceil(msLeft / 1000))
  return authError(
    'limited',
    code,
    `For security purposes, you can only request this after ${seconds} seconds.`,
    { retryAfterSeconds: seconds },
  )
}
