const UNSTORABLE = /[\0\p{Surrogate}]/u
const UNSTORABLE_ALL = /[\0\p{Surrogate}]/gu

/** Replaces NUL and lone surrogates by U+FFFD: PostgreSQL cannot store them. */
export const storable = (text: string): string =>
  UNSTORABLE.test(text) ? text.replace(UNSTORABLE_ALL, '\uFFFD') : text
