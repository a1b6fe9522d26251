/** For names: control characters, and those that reorder or hide text, could make one look like another. */
export const withoutInvisible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu, '')
