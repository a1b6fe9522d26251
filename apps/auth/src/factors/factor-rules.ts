import { isAppError, type AppError } from '@signet/errors'
import { withoutInvisible } from '@signet/pages/visible'
import { authError, invalid } from '../errors/auth-error.js'
import type { Factor, User } from '../users/user.js'

export type FactorType = Factor['factorType']

/** Settings of second factors (docs/specification.md#configuration, AUTH_MFA_*). Times are milliseconds. */
export type FactorRules = {
  readonly enroll: Readonly<Record<FactorType, boolean>>
  readonly verify: Readonly<Record<FactorType, boolean>>
  readonly maxEnrolled: number
  readonly maxVerified: number
  readonly challengeMs: number
  readonly smsIntervalMs: number
  readonly otpLength: number
  readonly smsProvider: string | undefined
  /** Issuer of TOTP secrets unless the request names one. */
  readonly siteHost: string
}

export const factorNotFound = () => authError('not_found', 'mfa_factor_not_found', 'Factor not found')

export const noRecoveryCodes = () =>
  authError('not_found', 'mfa_factor_not_found', 'The account has no recovery codes')

/** The most characters of a name, and of an issuer. */
const MAX_TEXT = 255

/** Refuses text that is too long for its column. */
export function limitedText(name: string, value = ''): string {
  if (value.length > MAX_TEXT) throw invalid(`${name} must not be longer than ${MAX_TEXT} characters`)
  return value
}

/** People compare these names, and do not see characters that reorder or hide text. */
export const visibleName = (name?: string): string =>
  withoutInvisible(limitedText('friendly_name', name)).trim()

const nameTaken = () =>
  authError('unprocessable', 'mfa_factor_name_conflict', 'A factor with this friendly name already exists')

/**
 * Two verified factors without a name conflict too: users could not tell them apart. An unfinished enrollment holds no
 * name, see `makeWay` of the store (docs/specification.md#factors).
 */
export function requireFreeName(factors: readonly Factor[], friendlyName: string, own?: Factor): void {
  const isTaken = factors.some(
    (factor) => factor.id !== own?.id && factor.status === 'verified' && factor.friendlyName === friendlyName,
  )
  if (isTaken) throw nameTaken()
}

/** Whether an aal1 session would get around a factor that is already verified. */
export const needsFactorFirst = (user: User, aal: string, factorId?: string): boolean =>
  aal !== 'aal2' && user.factors.some(({ id, status }) => status === 'verified' && id !== factorId)

/** Returns a refusal as a value. Its audit entry must be committed, so nothing may be thrown in the transaction. */
export const orRefusal = <T>(attempt: Promise<T>): Promise<T | AppError> =>
  attempt.catch((error: unknown) => {
    if (isAppError(error) && error.kind === 'limited') return error
    throw error
  })

/** Until the next code may be sent. A faster request may have stamped a later challenge than the one read here. */
export const msLeft = (
  { lastChallengedAt }: { readonly lastChallengedAt: Date | null },
  intervalMs: number,
  at: Date,
): number => (lastChallengedAt ?? at).getTime() + intervalMs - at.getTime()

/** What audit entries say about a factor (docs/specification.md#audit-log). */
export const factorTraits = ({ id, factorType, status }: Factor) => ({
  factor_id: id,
  factor_type: factorType,
  factor_status: status,
})
