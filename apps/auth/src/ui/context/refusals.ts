import { isAppError, type AppError } from '@signet/errors'
import { statusOf, type Answer, type RequestContext } from '@signet/http'
import type { ErrorCode } from '../../errors/error-codes.js'

/** Texts for people; the messages of other codes are readable as they are. */
const TEXTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_credentials: 'The address or password is incorrect.',
  email_not_confirmed:
    'This address is not confirmed yet. Open the link in the email we sent you, or ask for a new one.',
  phone_not_confirmed: 'This phone number is not confirmed yet. Ask for a code.',
  user_banned: 'This account is blocked.',
  user_already_exists: 'An account with this address already exists. Sign in, or reset its password.',
  signup_disabled: 'Sign-up is disabled here.',
  captcha_failed: 'The CAPTCHA check failed. Please try again.',
  otp_expired: 'This code or link is wrong, was already used, or has expired.',
  mfa_verification_failed: 'This code is wrong or has expired.',
  mfa_challenge_expired: 'This code has expired. Ask for a new one.',
  flow_state_not_found: 'This link was already used, or was requested in another browser. Please sign in.',
  bad_code_verifier:
    'This link was requested in another browser. Type the code from the same email there, or sign in here.',
  flow_state_expired: 'This took too long. Please try again.',
  provider_email_needs_verification:
    'Confirm your address first: open the link in the email we sent you, then sign in again.',
  email_exists: 'Another account has this address.',
  over_request_rate_limit: 'Too many attempts. Please wait a moment and try again.',
  over_email_send_rate_limit: 'It is too soon for another email. Please wait, and check your spam folder.',
  over_sms_send_rate_limit: 'We can’t send another message right now. Please wait a minute and try again.',
  reauthentication_not_valid: 'This code is wrong or has expired.',
}

const OTHER = 'Something went wrong. Please try again.'

export const refusalText = (error: AppError): string => TEXTS[error.code as ErrorCode] ?? error.message

/** The text of a code from a query string, which anyone can forge: a known text or a generic one. */
export const textOfCode = (code: string): string =>
  Object.hasOwn(TEXTS, code) ? (TEXTS[code as ErrorCode] ?? OTHER) : OTHER

export type Refusal = {
  status: number
  notice: string
  code: string
  headers: Record<string, string>
  retryAfterSeconds: number | undefined
}

/** Does the work. A 4xx error is shown on the submitted page; a 5xx error goes to the error page. */
export async function orShow(
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
      notice: refusalText(error),
      code: error.code,
      retryAfterSeconds,
      headers: retryAfterSeconds === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfterSeconds)) },
    })
  }
}

/** What each refusal is about; those that are about no field are announced by themselves. */
const SUBJECTS: Readonly<Partial<Record<ErrorCode, 'address' | 'password' | 'current_password' | 'code'>>> = {
  invalid_credentials: 'password',
  weak_password: 'password',
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
}

/** The field of a form that a refusal is about; `fields` names those of the form. */
export function faultOf(
  code: string | undefined,
  fields: Readonly<Partial<Record<'address' | 'password' | 'current_password' | 'code', string>>>,
): string | undefined {
  const subject = SUBJECTS[code as ErrorCode]
  return subject && fields[subject]
}
