/** A text in which `*` stands for any run of characters without a separator, and `**` for any run at all. */
export type Wildcards = { readonly parts: readonly string[]; readonly separators: ReadonlySet<string> }

export const wildcards = (pattern: string, separators = ''): Wildcards => ({
  parts: pattern.split(/(\*{1,2})/).filter((part) => part !== ''),
  separators: new Set(separators),
})

export const isLiteral = ({ parts }: Wildcards): boolean => !parts.some((part) => part.startsWith('*'))

/**
 * Whether the whole text matches. Follows all alternatives at once, so the time is at most proportional to the length of the pattern times
 * that of the text.
 */
export function matches({ parts, separators }: Wildcards, text: string): boolean {
  let starts: ReadonlySet<number> = new Set([0])
  for (const part of parts)
    starts = part.startsWith('*')
      ? runsFrom(starts, text, part === '*' ? separators : NONE)
      : literalFrom(starts, text, part)
  return starts.has(text.length)
}

const NONE: ReadonlySet<string> = new Set()

function literalFrom(starts: ReadonlySet<number>, text: string, literal: string): ReadonlySet<number> {
  return new Set([...starts].filter((at) => text.startsWith(literal, at)).map((at) => at + literal.length))
}

function runsFrom(
  starts: ReadonlySet<number>,
  text: string,
  stops: ReadonlySet<string>,
): ReadonlySet<number> {
  const ends = new Set<number>()
  for (const start of starts) {
    // Stop where another start has already been: the rest leads to the same states.
    for (let end = start; !ends.has(end); end += 1) {
      ends.add(end)
      if (end >= text.length || stops.has(text[end] ?? '')) break
    }
  }
  return ends
}
