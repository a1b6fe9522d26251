const UNSTORABLE_ALL = /[\0\p{Surrogate}]/gu

/** Whether a text has no lone surrogates. The engine knows which texts cannot have any, and does not scan those. */
export const isWellFormed = (text: string): boolean =>
  (text as string & { isWellFormed(): boolean }).isWellFormed()

/** Replaces NUL and lone surrogates with U+FFFD, because PostgreSQL cannot store them. */
export const storable = (text: string): string =>
  isWellFormed(text) && !text.includes('\0') ? text : text.replace(UNSTORABLE_ALL, '\uFFFD')
