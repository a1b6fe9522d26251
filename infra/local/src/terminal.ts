import { styleText } from 'node:util'

/** Colours for a person at a terminal; plain text for a file, a pipe, or if NO_COLOR is set. */
const colours = process.stdout.isTTY && !process.env['NO_COLOR']

const painter =
  (style: Parameters<typeof styleText>[0]) =>
  (text: string): string =>
    colours ? styleText(style, text) : text

export const bold = painter('bold')
export const dim = painter('dim')
export const green = painter('green')
export const red = painter('red')
export const cyan = painter('cyan')

export function say(text = ''): void {
  console.log(text)
}

/** Runs a step and prints one line with its outcome and how long it took. */
export async function reported<T>(
  done: string | ((result: T) => string),
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  say(
    `  ${green('✓')} ${typeof done === 'string' ? done : done(result)} ${dim(`(${seconds(performance.now() - startedAt)})`)}`,
  )
  return result
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** Lines of `name  value`, aligned. */
export function table(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${name.padEnd(width)}   ${value}`).join('\n')
}
