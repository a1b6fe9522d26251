import { captchaFields } from '@signet/pages'
import { type Sent } from './sign-in-pages.js'

/** The solved challenge of a form, under whichever name the widget sends it. */
export function captchaAnswer(sent: Sent): { captcha_token?: string } {
  const token = captchaFields.map((name) => sent.text(name)).find((value) => value !== '')
  return token === undefined ? {} : { captcha_token: token }
}
