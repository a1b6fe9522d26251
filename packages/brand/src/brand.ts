export type Logo = { readonly type: 'image/svg+xml' | 'image/png'; readonly bytes: Buffer }

/** Name, look and contact details of the operator, as pages and emails show them. */
export type Brand = {
  readonly name: string
  /** Null for the built-in mark. */
  readonly logo: Logo | null
  /** `#rrggbb`, readable on light grounds. */
  readonly accent: string
  /** Where people get help: an email address or a URL. */
  readonly support: string | null
  readonly imprintUrl: string | null
  readonly privacyUrl: string | null
  readonly termsUrl: string | null
}

export const SIGNET: Brand = {
  name: 'Signet',
  logo: null,
  accent: '#4338ca',
  support: null,
  imprintUrl: null,
  privacyUrl: null,
  termsUrl: null,
}
