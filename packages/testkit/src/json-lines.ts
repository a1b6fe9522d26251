/** The complete lines of a log. Throws if one is not a JSON object. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const record: unknown = line.startsWith('{') ? JSON.parse(line) : undefined
      if (typeof record !== 'object') throw new Error(`not a line of JSON: ${line}`)
      return record as Record<string, unknown>
    })
}
