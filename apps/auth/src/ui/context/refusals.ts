import { durationText } from '@signet/language'
import { AppError, isAppError, type AppErrorOptions, type ErrorKind } from '@signet/errors'
import { statusOf, type Answer, type RequestContext } from '@signet/http'
import { AddressFormatError } from '../../addresses/address.js'
import type { ErrorCode } from '../../errors/error-codes.js'
import { OperatorRefusal } from '../../operator/operator-service.js'
import { LinkRefusal } from '../../providers/link-confirmation.js'
import { PasswordTooLongError } from '../../users/new-password.js'
import { isUiKey, uiTextsIn, type UiKey, type UiTexts } from '../texts.js'

/** A refusal by the pages themselves. The reader gets it in their language, and the log in English. */
export class PageRefusal extends AppError {
  constructor(
    kind: ErrorKind,
    readonly key: UiKey,
    code: ErrorCode = 'validation_failed',
    options?: AppErrorOptions,
  ) {
    super(kind, code, uiTextsIn('en')(key), options)
  }
}

/** The text of an error. If a request came too soon, it also says how long to wait. */
export function refusalText(t: UiTexts, error: AppError): string {
  return [reasonText(t, error), waitText(t, error)].filter((part) => part !== null).join(' ')
}

/** How long to wait; null if waiting does not help. */
export const waitText = (t: UiTexts, { kind, retryAfterSeconds: seconds }: AppError): string | null =>
  kind === 'limited' && seconds !== undefined
    ? t('error.limited', { time: durationText(t.language, Math.ceil(seconds)) })
    : null

function reasonText(t: UiTexts, error: AppError): string {
  const key = keyOfError(error)
  if (key !== null) return t(key)
  // The API's messages are in English. Where there is no text for a code, readers of English can use them.
  return t.language === 'en' ? error.message : t('refusal.other')
}

function keyOfError(error: AppError): UiKey | null {
  if (error instanceof PageRefusal) return error.key
  // Their code is too general to have a text.
  if (error instanceof AddressFormatError) return `refusal.${error.address}-format`
  if (error instanceof PasswordTooLongError) return 'refusal.password-too-long'
  if (error instanceof OperatorRefusal) return `refusal.operator.${error.reason}`
  if (error instanceof LinkRefusal)
    return error.reason === 'over' ? 'refusal.link-over' : 'error.foreign-form'
  return keyOf(error)
}

/** The text of a code from a query string: a known text or a generic one. */
export const textOfCode = (t: UiTexts, code: string): string => t(keyOf({ code }) ?? 'refusal.other')

function keyOf({
  code,
  details,
}: Pick<AppError, 'code' | 'details'> | { code: string; details?: undefined }) {
  const key = `refusal.${code === 'weak_password' ? `${code}.${weaknessOf(details)}` : code}`
  return isUiKey(key) ? key : null
}

/** The first reason why a password is weak. */
const weaknessOf = (details: AppError['details']): string => {
  const { reasons } = (details?.['weak_password'] ?? { reasons: [] }) as { reasons: readonly string[] }
  return reasons[0] ?? ''
}

export type Refusal = {
  status: number
  notice: string
  code: string
  headers: Record<string, string>
  retryAfterSeconds: number | undefined
}

/** Does the work. A 4xx error is shown on the submitted page; a 5xx error goes to the error page. */
export async function orShow(
  t: UiTexts,
  context: RequestContext,
  work: () => Promise<Answer>,
  show: (refusal: Refusal) => Answer | Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!isAppError(error) || statusOf(error) >= 500) throw error
    context.fields['error_code'] = error.code
    const { retryAfterSeconds } = error
    return show({
      status: statusOf(error),
      notice: refusalText(t, error),
      code: error instanceof PasswordTooLongError ? TOO_LONG : error.code,
      retryAfterSeconds,
      headers: retryAfterSeconds === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfterSeconds)) },
    })
  }
}

/** Tells a password that is too long from other bad values, all of which have one code. */
const TOO_LONG = 'password_too_long'

type Subject = 'address' | 'password' | 'current_password' | 'code'

/** What each refusal is about. Refusals about no field are announced as messages. */
const SUBJECTS: ReadonlyMap<string, Subject> = new Map(
  Object.entries({
    invalid_credentials: 'password',
    weak_password: 'password',
    [TOO_LONG]: 'password',
    same_password: 'password',
    current_password_required: 'current_password',
    current_password_invalid: 'current_password',
    email_not_confirmed: 'address',
    phone_not_confirmed: 'address',
    user_already_exists: 'address',
    email_exists: 'address',
    phone_exists: 'address',
    email_address_invalid: 'address',
    email_address_not_authorized: 'address',
    validation_failed: 'address',
    otp_expired: 'code',
    mfa_verification_failed: 'code',
    mfa_challenge_expired: 'code',
    reauthentication_not_valid: 'code',
  } satisfies Partial<Record<ErrorCode | typeof TOO_LONG, Subject>>),
)

/** The form field that a refusal is about. `fields` names the fields of the form. */
export function faultOf(
  code: string | undefined,
  fields: Readonly<Partial<Record<Subject, string>>>,
): string | undefined {
  const subject = code === undefined ? undefined : SUBJECTS.get(code)
  return subject && fields[subject]
}
