import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

const colours = process.stdout.isTTY && !process.env['NO_COLOR']

/** Colours for a person at a terminal; plain text for a file, a pipe, or if NO_COLOR is set. */
function paint(style: Style, text: string): string {
  return colours ? styleText(style, text) : text
}

export const bold = (text: string): string => paint('bold', text)
export const dim = (text: string): string => paint('dim', text)
export const green = (text: string): string => paint('green', text)
export const red = (text: string): string => paint('red', text)
export const cyan = (text: string): string => paint('cyan', text)

export function say(text = ''): void {
  console.log(text)
}

/** Runs a step and prints one line with its outcome and how long it took. */
export async function step<T>(work: () => Promise<T>, describe: (result: T) => string): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  say(`  ${green('✓')} ${describe(result)} ${dim(`(${seconds(performance.now() - startedAt)})`)}`)
  return result
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** Lines of `name  value`, aligned. */
export function table(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${name.padEnd(width)}   ${value}`).join('\n')
}
