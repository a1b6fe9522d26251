import stringWidth from 'string-width'

/**
 * Characters that a terminal interprets instead of showing: control characters (escape sequences start with one) and marks that reorder
 * the text around them. Names, titles and payloads are written by other people.
 */
const NOT_PRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Makes one line of text safe to show: characters that a terminal would interpret become `\uXXXX`. */
export function printable(text: string): string {
  return text.replace(NOT_PRINTABLE, escaped)
}

/** Makes JSON that is safe to show. It uses JSON's own escapes, so it still parses to the same value. */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent)
  return text.replace(NOT_PRINTABLE, (character) => (character === '\n' ? character : escaped(character)))
}

/** Number of terminal cells that the text takes: 2 for each wide character or emoji. */
export const displayWidth = (text: string): number => stringWidth(text)

/** Cuts the text to this many cells, with an ellipsis in the last one. Never splits a character. */
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

/** Formats `2026-01-01T00:00:00.000Z` for people, still in UTC. Other text stays unchanged, and empty text becomes a dash. */
export function readableTime(iso: string): string {
  if (iso === '') return '-'
  const parts = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(iso)
  return parts ? `${parts[1]} ${parts[2]}Z` : iso
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
