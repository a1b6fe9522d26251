import { isAppError, type AppError } from '@signet/errors'
import { statusOf, type Answer, type RequestContext } from '@signet/http'
import { type ErrorCode } from '../../errors/error-codes.js'

/** What a person reads; codes that are not here were written for people already. */
const TEXTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_credentials: 'The address or the password is not right.',
  email_not_confirmed:
    'This address is not confirmed yet. Open the link in the mail that we sent, or have a new one mailed to you.',
  phone_not_confirmed: 'This phone number is not confirmed yet. Have a code sent to it.',
  user_banned: 'This account is blocked.',
  user_already_exists:
    'There is an account with this address already. Sign in, or choose a new password for it.',
  signup_disabled: 'New accounts cannot be made here.',
  captcha_failed: 'The check that you are a person was not passed. Please try again.',
  otp_expired: 'This is not right, was used before, or is too old.',
  mfa_verification_failed: 'This code is not right, or too old.',
  mfa_challenge_expired: 'This code is too old. Have a new one sent.',
  flow_state_not_found: 'This link was used before, or was asked for in another browser. Please sign in.',
  bad_code_verifier: 'This link was asked for in another browser. Please sign in.',
  flow_state_expired: 'This took too long. Please try again.',
  provider_email_needs_verification:
    'Your address has to be confirmed first. Open the link in the mail that we sent, then sign in again.',
  email_exists: 'Another account has this address.',
  over_request_rate_limit: 'Too many attempts. Please wait a little and try again.',
  over_sms_send_rate_limit: 'No further message can be sent right now. Please wait a minute and try again.',
  reauthentication_not_valid: 'This code is not right, or too old.',
}

const OTHER = 'This did not work. Please try again.'

export const refusalText = (error: AppError): string => TEXTS[error.code as ErrorCode] ?? error.message

/** For codes that come in a query, where anybody may write anything: known ones, or nothing in particular. */
export const textOfCode = (code: string): string =>
  Object.hasOwn(TEXTS, code) ? (TEXTS[code as ErrorCode] ?? OTHER) : OTHER

export type Refusal = { status: number; notice: string; code: string; headers: Record<string, string> }

/** Does the work; a refusal is shown on the page that was sent, a fault of ours goes on to the error page. */
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
      headers: retryAfterSeconds === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfterSeconds)) },
    })
  }
}
