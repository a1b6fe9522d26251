import { invalid } from '../../errors/auth-error.js'
import { askedLanguage, type Language } from '@signet/language'
import { challengeOf, type Challenge } from '../../flows/pkce.js'
import type { Redirects } from '../../redirects/redirects.js'
import type { UiTexts } from '../texts.js'

/** What an application may ask for in a sign-in (OpenID Connect Core section 3.1.2.1); other values are ignored. */
const PROMPTS = ['none', 'create', 'login', 'select_account'] as const
export type Prompt = (typeof PROMPTS)[number]

/** Why a person came to sign in. It is carried in the query of links and in hidden fields of forms. */
export type SignInContext = {
  /** Where to send the result; null when no application is waiting. */
  readonly target: string | null
  readonly challenge: Challenge | null
  /** Returned to the application as it was sent. */
  readonly state: string | null
  readonly prompt: Prompt | null
  /** The oldest sign-in that the application accepts. */
  readonly maxAgeSeconds: number | null
  /** The address that the person will probably sign in with. */
  readonly loginHint: string | null
  /** The language that the application wants on the pages. */
  readonly language: Language | null
  /** A step between signing in and continuing. */
  readonly next: 'password' | 'account' | 'operator' | null
}

const NEXT = ['password', 'account', 'operator'] as const
const MAX_TARGET_LENGTH = 2048
const MAX_STATE_LENGTH = 1024
const MAX_ADDRESS_LENGTH = 320

/**
 * Reads the context from a query or form. It is checked at every step, so it need not be trusted: a target that is not allowed is replaced
 * by the site URL.
 */
export function signInContextOf(values: (name: string) => string, redirects: Redirects): SignInContext {
  const wanted = values('redirect_to')
  const accepted = wanted.length <= MAX_TARGET_LENGTH ? redirects.accepted(wanted) : null
  return {
    target: wanted === '' ? null : (accepted ?? redirects.siteUrl),
    challenge: challengeOf({
      code_challenge: values('code_challenge'),
      code_challenge_method: values('code_challenge_method'),
    }),
    state: stateOf(values('state')),
    prompt: promptOf(values('prompt')),
    maxAgeSeconds: maxAgeOf(values('max_age')),
    loginHint: values('login_hint').trim().slice(0, MAX_ADDRESS_LENGTH) || null,
    language: askedLanguage(values('ui_locales')),
    next: NEXT.find((known) => known === values('next')) ?? null,
  }
}

function stateOf(text: string): string | null {
  if (text.length > MAX_STATE_LENGTH) throw invalid(`state must be at most ${MAX_STATE_LENGTH} characters`)
  return text === '' ? null : text
}

function promptOf(text: string): Prompt | null {
  const named = text.split(' ').filter((value) => value !== '')
  if (named.includes('none') && named.length > 1) throw invalid('prompt=none excludes every other prompt')
  return PROMPTS.find((known) => named.includes(known)) ?? null
}

function maxAgeOf(text: string): number | null {
  if (text === '') return null
  if (!/^\d{1,9}$/.test(text)) throw invalid('max_age must be a number of seconds')
  return Number(text)
}

/** The context as parameters for {@link signInContextOf}. */
export function contextFields(context: SignInContext): Record<string, string> {
  const { target, challenge, state, prompt, maxAgeSeconds, loginHint, language, next } = context
  return {
    ...(target === null ? {} : { redirect_to: target }),
    ...(challenge === null
      ? {}
      : { code_challenge: challenge.challenge, code_challenge_method: challenge.method }),
    ...(state === null ? {} : { state }),
    ...(prompt === null ? {} : { prompt }),
    ...(maxAgeSeconds === null ? {} : { max_age: String(maxAgeSeconds) }),
    ...(loginHint === null ? {} : { login_hint: loginHint }),
    ...(language === null ? {} : { ui_locales: language }),
    ...(next === null ? {} : { next }),
  }
}

/** The context once the person has signed in, or is about to with an email or a provider. It no longer asks for a sign-in. */
export const proved = (context: SignInContext): SignInContext => ({
  ...context,
  prompt: null,
  maxAgeSeconds: null,
  loginHint: null,
})

/** A path with the context in its query. */
export function withContext(
  path: string,
  context: SignInContext,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({ ...contextFields(context), ...more }).toString()
  return query === '' ? path : `${path}?${query}`
}

/** The name of the waiting application, as people recognize it. */
export function siteOf(t: UiTexts, { target }: Pick<SignInContext, 'target'>): string | null {
  if (target === null) return null
  const { protocol, host, hostname } = new URL(target)
  if (protocol !== 'https:' && protocol !== 'http:') return t('site.device')
  return isLoopbackHost(hostname) ? t('site.computer') : host
}

/** The name of AUTH_SITE_URL. */
export const siteName = (t: UiTexts, siteUrl: string): string => siteOf(t, { target: siteUrl }) ?? siteUrl

export const isLoopbackHost = (hostname: string): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
