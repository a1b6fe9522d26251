/**
 * For names: control characters and lone surrogates, and all that is there to reorder, join or hide text, could make one
 * name look like another. So could invisible letters, such as the fillers of Hangul or the blank of Braille, and code
 * points that mean nothing (noncharacters) or depend on the font (private use).
 */
export const withoutInvisible = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800]/gu,
    '',
  )

/** For what must be read as it was sent, such as URLs. */
export const hasInvisible = (text: string): boolean => withoutInvisible(text) !== text
