import { authError } from '../errors/auth-error.js'
import type { Outbound } from '../outbound/outbound.js'

export type CaptchaVerifier = {
  /** Throws `captcha_failed`, or `unexpected_failure` when the service gave no answer. Does nothing while disabled. */
  verify(token: string | undefined, remoteIp: string): Promise<void>
}

export type CaptchaConfig = {
  enabled: boolean
  provider: CaptchaProvider
  /** Required while enabled; the server does not start without it. */
  secret: string
  timeoutMs: number
}

const VERIFY_URLS = {
  hcaptcha: 'https://hcaptcha.com/siteverify',
  turnstile: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
}

export type CaptchaProvider = keyof typeof VERIFY_URLS

/** The services that a server can use. Their widgets are in packages/pages. */
export const captchaProviders = Object.keys(VERIFY_URLS) as CaptchaProvider[]

type Deps = {
  config: CaptchaConfig
  outbound: Outbound
  /** Base URLs of the services; tests override them. */
  verifyUrls?: Readonly<Record<CaptchaProvider, string>> | undefined
}

/** Verifies a CAPTCHA response with the service (docs/specification.md#captcha). */
export function createCaptchaVerifier({ config, outbound, verifyUrls = VERIFY_URLS }: Deps): CaptchaVerifier {
  return {
    async verify(token, remoteIp) {
      if (!config.enabled) return
      if (token === undefined || token.trim() === '') throw refused('no captcha_token found in the request')
      const body = new URLSearchParams({ secret: config.secret, response: token.trim(), remoteip: remoteIp })
      const url = verifyUrls[config.provider]
      const answer = await outbound
        .request({ method: 'POST', url, body, timeoutMs: config.timeoutMs })
        .then(({ text }) => readAnswer(text))
        .catch((cause: unknown) => {
          throw authError('internal', 'unexpected_failure', 'The CAPTCHA could not be verified', { cause })
        })
      if (!answer.success) throw refused(answer.errorCodes.join(', ') || 'the response was rejected')
    },
  }
}

const refused = (reason: string) =>
  authError('invalid', 'captcha_failed', `captcha protection: request disallowed (${reason})`)

/** The status does not help: the services answer a failed check with 200, and some errors with 400, in the same format. */
function readAnswer(text: string): { success: boolean; errorCodes: string[] } {
  const answer = JSON.parse(text) as { success?: unknown; 'error-codes'?: unknown } | null
  if (typeof answer?.success !== 'boolean') throw new Error('the CAPTCHA service gave no clear result')
  const codes = Array.isArray(answer['error-codes']) ? (answer['error-codes'] as unknown[]) : []
  return { success: answer.success, errorCodes: codes.filter((code) => typeof code === 'string') }
}
