export type CaptchaVerifier = {
  /** Throws `captcha_failed`, or `unexpected_failure` when the service gave no answer. Does nothing while switched off. */
  verify(token: string | undefined, remoteIp: string): Promise<void>
}

export type CaptchaConfig = {
  enabled: boolean
  provider: 'hcaptcha' | 'turnstile'
  secret: string
  timeoutMs: number
}
