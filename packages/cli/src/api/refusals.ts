import {
  NotSignedInError,
  RateLimitedError,
  RefusedError,
  ServerFailureError,
  type CliError,
} from '../errors.js'
import { notThisService, type HttpAnswer } from './http-client.js'

/** What an error body says. The three APIs have three forms; see `refusalOf`. */
type Refusal = { code: string; message: string }

/**
 * Turns a non-2xx answer into an error. `credential` describes the credential of the request, so that the advice fits where it came
 * from.
 */
export function failureOf(answer: HttpAnswer, credential: { whenInvalid: string }): CliError {
  const { status, headers, url } = answer
  const refusal = refusalOf(answer.body)
  if (status < 500 && refusal === null) return notThisService(status, url)
  if (status >= 500 || refusal === null) {
    const said = refusal === null ? '' : `: ${refusal.message}`
    return new ServerFailureError(`${url.host} answered HTTP ${status}${said}`, {
      hint: 'Try again later. If a change failed, check whether it took effect before you repeat it.',
    })
  }
  if (status === 401) return new NotSignedInError(refusal.message, { hint: credential.whenInvalid })
  const seconds = secondsOf(headers.get('retry-after'))
  if (status === 429 && seconds > 0) return new RateLimitedError(refusal.code, refusal.message, seconds)
  return new RefusedError(refusal.code, refusal.message, { hint: retryHint(seconds) })
}

const secondsOf = (retryAfter: string | null): number =>
  retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : 0

const retryHint = (seconds: number): string | undefined =>
  seconds > 0 ? `Try again in ${seconds} s.` : undefined

/**
 * `{error: {code, message}}` of /v1 and /account, `{code, message}` of the identity service, and
 * `{error, error_description}` of OAuth.
 */
function refusalOf(body: unknown): Refusal | null {
  if (!isRecord(body)) return null
  if (isRecord(body['error'])) return refusal(body['error']['code'], body['error']['message'])
  if (typeof body['error'] === 'string') return refusal(body['error'], body['error_description'])
  return refusal(body['error_code'] ?? body['code'], body['message'] ?? body['msg'])
}

function refusal(code: unknown, message: unknown): Refusal | null {
  if (typeof code !== 'string') return null
  return { code, message: typeof message === 'string' && message !== '' ? message : code }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
