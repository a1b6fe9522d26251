/** More than any document of this service has, and less than what overflows the stack of whoever shows it. */
const MAX_DEPTH = 200

/** The value of a text from outside. Throws for what is not JSON, and for what is nested too deeply to be shown. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (isDeeperThan(MAX_DEPTH, value)) throw new SyntaxError(`nested more than ${MAX_DEPTH} levels deep`)
  return value
}

const isDeeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isDeeperThan(levels - 1, one)))
