/**
 * Removes characters that could make one name look like another: control characters, lone surrogates, everything that reorders, joins
 * or hides text, invisible letters such as the Hangul fillers or the Braille blank, and code points that mean nothing (noncharacters)
 * or depend on the font (private use).
 */
export const withoutInvisible = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800]/gu,
    '',
  )

/** For text that must be read as it was sent, such as URLs. */
export const hasInvisible = (text: string): boolean => withoutInvisible(text) !== text
