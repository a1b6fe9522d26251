const VARIABLE = /^\$(?:\w+|\{[^}]*\}|[@*])/

/**
 * The variables outside of quotes in a shell script. sh and bash split their values into words, zsh does not. No shell splits the value
 * of an assignment.
 */
export function unquotedVariables(script: string): string[] {
  const found: string[] = []
  /** What encloses the current position: double quotes, or a `(`, whose commands have their own quotes. */
  const inside: ('"' | '(')[] = []
  let word = ''
  for (let at = 0; at < script.length; at += 1) {
    const character = script[at] ?? ''
    const isQuoted = inside.at(-1) === '"'
    const skipTo = (text: string) => {
      const end = script.indexOf(text, at + 1)
      at = end < 0 ? script.length : end
    }
    if (character === '\\') at += 1
    else if (character === '"' && isQuoted) inside.pop()
    else if (character === '"') inside.push('"')
    else if (script.startsWith('$(', at) || (character === '(' && !isQuoted)) {
      inside.push('(')
      if (character === '$') at += 1
      word = ''
      continue
    } else if (isQuoted) continue
    else if (character === ')') inside.pop()
    else if (character === "'") skipTo("'")
    else if (character === '#' && word === '') skipTo('\n')
    else if (character === '$') {
      const [variable] = VARIABLE.exec(script.slice(at)) ?? []
      if (variable !== undefined && !/^\w+=/.test(word)) found.push(variable)
      if (variable !== undefined) at += variable.length - 1
    }
    word = /[\s;&|]/.test(character) ? '' : word + character
  }
  return found
}
