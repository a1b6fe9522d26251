/** UTF-8 bytes of a code point inside a JSON string, as `JSON.stringify` writes it. */
function escapedBytes(codePoint: number): number {
  if (codePoint === 0x22 || codePoint === 0x5c) return 2
  if (codePoint < 0x20) return isShortEscape(codePoint) ? 2 : 6
  if (codePoint < 0x80) return 1
  if (codePoint < 0x800) return 2
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return 6 // a lone surrogate is written as \udXXX
  return codePoint < 0x10000 ? 3 : 4
}

/** \b \t \n \f \r */
const isShortEscape = (codePoint: number) => codePoint >= 8 && codePoint <= 13 && codePoint !== 11

/** The longest prefix of whole code points whose escaped form has at most `budget` bytes. */
export function longestEscapedPrefix(text: string, budget: number): string {
  let left = budget
  for (let index = 0; index < text.length;) {
    const codePoint = text.codePointAt(index) ?? 0
    left -= escapedBytes(codePoint)
    if (left < 0) return text.slice(0, index)
    index += codePoint > 0xffff ? 2 : 1
  }
  return text
}
