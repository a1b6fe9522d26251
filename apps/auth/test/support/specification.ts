import { readFileSync } from 'node:fs'

const specification = readFileSync(new URL('../../docs/specification.md', import.meta.url), 'utf8')

/** The cells of the first table below a heading of docs/specification.md, without its header. */
export function tableBelow(heading: string): string[][] {
  const [, section] = specification.split(new RegExp(`^#+ ${heading}\n`, 'm'))
  const table = /^(?:\|.*\n)+/m.exec(section ?? '')?.[0]
  if (table === undefined) throw new Error(`there is no table below the heading ${heading}`)
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

/** The texts between backticks in a cell. */
export const codesIn = (cell: string | undefined): string[] =>
  [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
