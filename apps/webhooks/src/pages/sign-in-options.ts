import type { CaptchaProvider } from '@signet/pages'

/** Ways to sign in besides the password, as the operator switched them on. */
export type SignInOptions = {
  readonly magicLink: boolean
  readonly captcha: { readonly provider: CaptchaProvider; readonly siteKey: string } | null
}
