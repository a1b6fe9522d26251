import stringWidth from 'string-width'

/**
 * What a terminal would act on instead of showing: control characters (escape sequences start with one) and marks
 * that reorder the text around them. Names, titles and payloads are other people's text.
 */
const NOT_PRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** One line of text that is safe to show: what a terminal would act on becomes `\uXXXX`. */
export function printable(text: string): string {
  return text.replace(NOT_PRINTABLE, escaped)
}

/** JSON that is safe to show. The escapes are JSON's own, so it still parses to the same value. */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent)
  return text.replace(NOT_PRINTABLE, (character) => (character === '\n' ? character : escaped(character)))
}

/** Cells a terminal uses for the text: 2 for each wide character or emoji. */
export const displayWidth = (text: string): number => stringWidth(text)

/** The text cut to this many cells, with an ellipsis in the last one. Never splits a character. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let cut = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += displayWidth(segment)
    if (used > width - 1) break
    cut += segment
  }
  return `${cut}…`
}

/** `2026-01-01T00:00:00.000Z` as people read it, still in UTC; other text unchanged, empty text as a dash. */
export function readableTime(iso: string): string {
  if (iso === '') return '-'
  const parts = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(iso)
  return parts ? `${parts[1]} ${parts[2]}Z` : iso
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
