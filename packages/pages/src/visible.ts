/**
 * For names: control characters and lone surrogates, and all that is there to reorder, join or hide text, could make one
 * name look like another. So could letters that nobody sees, such as the fillers of Hangul.
 */
export const withoutInvisible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, '')
