import { styleText } from 'node:util'

/** Colors for a person at a terminal; Node writes plain text to a file, to a pipe, or if NO_COLOR is set. */
const painter = (style: Parameters<typeof styleText>[0]) => (text: string) => styleText(style, text)

export const bold = painter('bold')
export const dim = painter('dim')
export const green = painter('green')
export const red = painter('red')
export const cyan = painter('cyan')

export function say(text = ''): void {
  console.log(text)
}

/** Starts something and prints one line with its name and how long that took. */
export async function reported<T extends { name: string }>(begin: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const started = await begin()
  say(`  ${green('✓')} ${started.name} ${dim(`(${secondsSince(startedAt)})`)}`)
  return started
}

export const secondsSince = (startedAt: number): string =>
  `${((performance.now() - startedAt) / 1000).toFixed(1)} s`

/** Lines of `name  value`, aligned. */
export function table(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${name.padEnd(width)}   ${value}`).join('\n')
}
