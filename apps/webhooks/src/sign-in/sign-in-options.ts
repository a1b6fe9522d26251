import { type CaptchaProvider } from '@signet/pages'

/** Ways to sign in besides the password, as the operator switched them on. */
export type SignInOptions = {
  readonly magicLink: boolean
  /** External providers of the identity server, e.g. `github`. */
  readonly providers: readonly string[]
  readonly captcha: { readonly provider: CaptchaProvider; readonly siteKey: string } | null
}
