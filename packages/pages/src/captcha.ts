import { html, type Html } from './html.js'

type Widget = {
  script: string
  /** Class of the element that the script replaces with the widget. */
  marker: string
  /** The form field that the widget adds. */
  field: string
  /** Sources that the Content-Security-Policy must allow. */
  allow: Readonly<Record<string, readonly string[]>>
}

const HCAPTCHA = ['https://hcaptcha.com', 'https://*.hcaptcha.com']
const TURNSTILE = ['https://challenges.cloudflare.com']

const WIDGETS = {
  hcaptcha: {
    script: 'https://js.hcaptcha.com/1/api.js',
    marker: 'h-captcha',
    field: 'h-captcha-response',
    allow: { 'script-src': HCAPTCHA, 'frame-src': HCAPTCHA, 'style-src': HCAPTCHA, 'connect-src': HCAPTCHA },
  },
  turnstile: {
    script: 'https://challenges.cloudflare.com/turnstile/v0/api.js',
    marker: 'cf-turnstile',
    field: 'cf-turnstile-response',
    allow: { 'script-src': TURNSTILE, 'frame-src': TURNSTILE },
  },
} satisfies Readonly<Record<string, Widget>>

/** Form fields that can contain the captcha response. */
export const captchaFields = ['captcha_token', ...Object.values(WIDGETS).map(({ field }) => field)]

export type Captcha = { provider: keyof typeof WIDGETS; siteKey: string }

export const captchaWidget = ({ provider, siteKey }: Captcha): Html =>
  html`<div class="captcha ${WIDGETS[provider].marker}" data-sitekey="${siteKey}"></div>
    <script src="${WIDGETS[provider].script}" async defer></script>`

export const captchaPolicy = ({ provider }: Captcha): Widget['allow'] => WIDGETS[provider].allow
