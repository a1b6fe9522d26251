/**
 * For names: control characters and lone surrogates, and all that is there to reorder, join or hide text, could make one
 * name look like another.
 */
export const withoutInvisible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
