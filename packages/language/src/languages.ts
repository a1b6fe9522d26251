/** The languages of every catalogue. */
export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

export const DEFAULT_LANGUAGE: Language = 'en'

const isLanguage = (text: string): text is Language => languages.some((language) => language === text)

type Wishes = {
  /** OpenID Connect Core section 3.1.2.1: languages in order of preference, separated by spaces. */
  uiLocales?: string | undefined
  /** RFC 9110 section 12.5.4. */
  acceptLanguage?: string | undefined
}

/** More languages than people list. The rest is ignored, because anyone can send a long header. */
const MAX_WISHES = 20

/** The language to answer in. The application's choice takes precedence over the browser's. */
export const preferredLanguage = ({ uiLocales = '', acceptLanguage = '' }: Wishes): Language =>
  askedLanguage(uiLocales) ?? bestOf(acceptLanguage) ?? DEFAULT_LANGUAGE

/** The first known language in `ui_locales`. */
export const askedLanguage = (uiLocales: string): Language | null =>
  uiLocales
    .split(' ', MAX_WISHES)
    .map(knownLanguage)
    .find((language) => language !== null) ?? null

function bestOf(acceptLanguage: string): Language | null {
  const ranges = acceptLanguage
    .split(',', MAX_WISHES)
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';').map((part) => part.trim())
      return { language: tag === '*' ? DEFAULT_LANGUAGE : knownLanguage(tag), weight: weightOf(parameters) }
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
  return ranges.find(({ language }) => language !== null)?.language ?? null
}

const weightOf = (parameters: readonly string[]): number => {
  const written = parameters.find((parameter) => /^q=/i.test(parameter))
  return written === undefined ? 1 : Number(/^q=([01](?:\.\d{0,3})?)$/i.exec(written)?.[1] ?? 0)
}

/** The language of an account's locale, such as `de-AT` or `de_AT`. Null if there is no catalogue for it. */
export const languageOfLocale = (locale: unknown): Language | null =>
  typeof locale === 'string' ? knownLanguage(locale.replaceAll('_', '-')) : null

/** `de` for `de-AT` (RFC 4647 section 3.4). */
function knownLanguage(tag: string): Language | null {
  const [primary = ''] = tag.toLowerCase().split('-', 1)
  return isLanguage(primary) ? primary : null
}
