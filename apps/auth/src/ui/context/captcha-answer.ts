import { captchaFields } from '@signet/pages'
import type { Sent } from './sign-in-pages.js'

/** The CAPTCHA response of a form, under any of the names that widgets use. */
export function captchaAnswer(sent: Sent): { captcha_token?: string } {
  const token = captchaFields.map((name) => sent.text(name)).find((value) => value !== '')
  return token === undefined ? {} : { captcha_token: token }
}
