/** Deeper than any document of this service, and shallow enough that printing it cannot overflow the stack. */
const MAX_DEPTH = 200

/** Parses JSON from outside. Throws if the text is not JSON or is nested too deeply to be shown. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (isDeeperThan(MAX_DEPTH, value)) throw new SyntaxError(`nested more than ${MAX_DEPTH} levels deep`)
  return value
}

const isDeeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isDeeperThan(levels - 1, one)))
