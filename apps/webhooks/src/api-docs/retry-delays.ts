/** Formats delays for documents: "1, 5 and 15 minutes", or all in seconds if one of them is not a whole number of minutes. */
export function retryDelays(delaysSeconds: readonly number[]): string {
  const [perUnit, unit] = delaysSeconds.every((seconds) => seconds % 60 === 0)
    ? [60, 'minute']
    : [1, 'second']
  const numbers = delaysSeconds.map((seconds) => seconds / perUnit)
  return `${new Intl.ListFormat('en-GB').format(numbers.map(String))} ${unit}${numbers.at(-1) === 1 ? '' : 's'}`
}
