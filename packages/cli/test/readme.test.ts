import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command, CommanderError } from 'commander'
import { describe, expect, it } from '@jest/globals'
import { processHost } from '../src/command/host.js'
import { ExitCode } from '../src/exit-codes.js'
import { createProgram } from '../src/program.js'

const SOURCE = fileURLToPath(new URL('../src', import.meta.url))
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

const leaves = (command: Command, path: string): { path: string; command: Command }[] =>
  command.commands.length === 0
    ? [{ path, command }]
    : command.commands.flatMap((one) => leaves(one, `${path} ${one.name()}`))

const commands = leaves(createProgram(processHost()), 'signet')

const all = (command: Command, path: string): string[] => [
  path,
  ...command.commands.flatMap((one) => all(one, `${path} ${one.name()}`)),
]
const paths = all(createProgram(processHost()), 'signet')

/** What a command prints for `--help`, and its exit code. */
async function helpOf(path: string): Promise<{ text: string; exitCode: number }> {
  let text = ''
  const stdout = { write: (part: string) => (text += part) } as unknown as NodeJS.WriteStream
  const program = createProgram({ ...processHost(), stdout })
  const ended = await program
    .parseAsync([...path.split(' ').slice(1), '--help'], { from: 'user' })
    .catch((error: unknown) => error)
  return { text, exitCode: (ended as CommanderError).exitCode }
}

/** The arguments of `signet` in an example, without pipes and redirections. */
const wordsOf = (example: string) =>
  (/(?:^|\s)signet (.*)$/.exec(example)?.[1] ?? '').split(/ [<>|] /)[0]?.split(' ') ?? []

/** The commands that errors and notes in the source tell people to run: `signet …` in backticks, or after a colon. */
const advised = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((file) => /(?<!\.test)\.ts$/.test(file))
  .flatMap((file) => [
    ...readFileSync(join(SOURCE, file), 'utf8').matchAll(/(?:`|: )(signet (?!on )[a-z][^`'\\]*)/g),
  ])
  .map(([, line = '']) => line)

it('advises only commands that exist', () => {
  expect(advised.length).toBeGreaterThan(10)
  expect(advised.filter((line) => !paths.slice(1).some((path) => `${line} `.startsWith(`${path} `)))).toEqual(
    [],
  )
})

describe('the help of', () => {
  it.each(paths)('%s ends with examples of it that exist', async (path) => {
    const { text, exitCode } = await helpOf(path)
    expect(exitCode).toBe(0)
    const examples = [...text.matchAll(/^ {2}\$ (.+)$/gm)].map(([, example = '']) => example)
    expect(examples.some((example) => example.includes(`${path} `) || example.endsWith(path))).toBe(true)
    for (const example of examples) {
      const words = wordsOf(example)
      const found = commands.find((one) => `signet ${words.join(' ')} `.startsWith(`${one.path} `))
      const known = found?.command.options.map(({ long }) => long) ?? []
      const used = words.filter((word) => /^--[a-z]/.test(word))
      expect({ example, unknown: used.filter((word) => !known.includes(word)) }).toEqual({
        example,
        unknown: [],
      })
      expect(found).toBeDefined()
    }
  })

  it.each(commands)('$path has --json', ({ command }) => {
    expect(command.options.map(({ long }) => long)).toContain('--json')
  })
})

describe('README', () => {
  it.each(commands.map(({ path }) => path))('shows %s', (path) => {
    expect(readme).toContain(path)
  })

  it.each([...new Set(commands.flatMap(({ command }) => command.options.map(({ long }) => long ?? '')))])(
    'mentions %s',
    (option) => {
      expect(readme).toContain(option)
    },
  )

  it.each(Object.values(ExitCode))('explains exit code %d', (code) => {
    expect(readme).toMatch(new RegExp(`^\\| ${code} +\\| \\S`, 'm'))
  })
})
