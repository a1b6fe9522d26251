const SEPARATORS = new Set(['.', '/'])

type Token =
  | { kind: 'character'; value: string }
  /** `?`: one character that is no separator. */
  | { kind: 'one' }
  /** `*`: any run without separators. */
  | { kind: 'run' }
  /** `**`: any run. */
  | { kind: 'deep' }
  | { kind: 'class'; negated: boolean; ranges: readonly (readonly [string, string])[] }
  | { kind: 'choice'; options: readonly (readonly Token[])[] }

/** A parsed pattern of the redirect allow-list (contract 14.2). */
export type Glob = readonly Token[]

/** Parses `*`, `**`, `?`, `[a-z]`, `[!a]`, `{x,y}` and `\`; throws an Error that says what is wrong with the pattern. */
export function parseGlob(pattern: string): Glob {
  const parser = new Parser([...pattern])
  const tokens = parser.sequence([])
  if (!parser.atEnd()) throw new Error('must not close a { that was not opened')
  return tokens
}

/**
 * Whether the whole text matches. Follows all ways at once, so the time grows with pattern times text and never
 * explodes, whatever a caller sends.
 */
export function matchesGlob(glob: Glob, text: string): boolean {
  const characters = [...text]
  return advance(glob, characters, new Set([0])).has(characters.length)
}

class Parser {
  #at = 0

  constructor(private readonly source: readonly string[]) {}

  atEnd(): boolean {
    return this.#at >= this.source.length
  }

  /** Up to the end or to one of the characters in `until`, which stays unread. */
  sequence(until: readonly string[]): Token[] {
    const tokens: Token[] = []
    while (!this.atEnd()) {
      const next = this.source[this.#at] ?? ''
      if (until.includes(next) || next === '}') break
      this.#at++
      tokens.push(this.#token(next))
    }
    return tokens
  }

  #token(character: string): Token {
    switch (character) {
      case '*':
        return this.#skip('*') ? { kind: 'deep' } : { kind: 'run' }
      case '?':
        return { kind: 'one' }
      case '[':
        return this.#class()
      case '{':
        return this.#choice()
      case '\\':
        return { kind: 'character', value: this.#take('must not end in a backslash') }
      default:
        return { kind: 'character', value: character }
    }
  }

  #class(): Token {
    const negated = this.#skip('!')
    const ranges: [string, string][] = []
    while (!this.#skip(']')) {
      const from = this.#classCharacter()
      const to = this.#skip('-') ? this.#classCharacter() : from
      if (to < from) throw new Error('must not have a range that runs backwards')
      ranges.push([from, to])
    }
    if (ranges.length === 0) throw new Error('must not have an empty []')
    return { kind: 'class', negated, ranges }
  }

  #classCharacter(): string {
    const character = this.#take('must close every [')
    return character === '\\' ? this.#take('must close every [') : character
  }

  #choice(): Token {
    const options: Token[][] = []
    do options.push(this.sequence([',']))
    while (this.#skip(','))
    if (!this.#skip('}')) throw new Error('must close every {')
    return { kind: 'choice', options }
  }

  #skip(character: string): boolean {
    if (this.source[this.#at] !== character) return false
    this.#at++
    return true
  }

  #take(problem: string): string {
    const character = this.source[this.#at++]
    if (character === undefined) throw new Error(problem)
    return character
  }
}

/** The positions after the glob, for each position it may start at. */
function advance(glob: Glob, text: readonly string[], starts: ReadonlySet<number>): ReadonlySet<number> {
  return glob.reduce((positions, token) => step(token, text, positions), starts)
}

function step(token: Token, text: readonly string[], starts: ReadonlySet<number>): ReadonlySet<number> {
  if (token.kind === 'choice')
    return new Set(token.options.flatMap((option) => [...advance(option, text, starts)]))
  if (token.kind === 'run' || token.kind === 'deep') return run(token.kind, text, starts)
  const ends = new Set<number>()
  for (const start of starts) {
    const character = text[start]
    if (character !== undefined && matchesOne(token, character)) ends.add(start + 1)
  }
  return ends
}

function run(
  kind: 'run' | 'deep',
  text: readonly string[],
  starts: ReadonlySet<number>,
): ReadonlySet<number> {
  const ends = new Set<number>()
  for (const start of starts) {
    // What another start reached already needs no second walk.
    for (let end = start; !ends.has(end); end++) {
      ends.add(end)
      if (end >= text.length || (kind === 'run' && SEPARATORS.has(text[end] ?? ''))) break
    }
  }
  return ends
}

function matchesOne(token: Exclude<Token, { kind: 'run' | 'deep' | 'choice' }>, character: string): boolean {
  switch (token.kind) {
    case 'character':
      return token.value === character
    case 'one':
      return !SEPARATORS.has(character)
    case 'class': {
      const listed = token.ranges.some(([from, to]) => from <= character && character <= to)
      // "Anything but a" must not cross into the next label of a host name.
      return token.negated ? !listed && !SEPARATORS.has(character) : listed
    }
  }
}
