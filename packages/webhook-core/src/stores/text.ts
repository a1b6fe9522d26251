const UNSTORABLE = /[\0\p{Surrogate}]/u
const UNSTORABLE_ALL = /[\0\p{Surrogate}]/gu

/** The text with NUL and lone surrogates replaced by U+FFFD: PostgreSQL and UTF-8 have no place for them (contract F.2). */
export const storable = (text: string): string =>
  UNSTORABLE.test(text) ? text.replace(UNSTORABLE_ALL, '\uFFFD') : text

export const storableOrNull = (text: string | undefined): string | null =>
  text === undefined ? null : storable(text)
