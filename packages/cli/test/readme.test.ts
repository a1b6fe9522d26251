import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describe, expect, it } from '@jest/globals'
import { processHost } from '../src/command/host.js'
import { ExitCode } from '../src/exit-codes.js'
import { createProgram } from '../src/program.js'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

const leaves = (command: Command, path: string): { path: string; command: Command }[] =>
  command.commands.length === 0
    ? [{ path, command }]
    : command.commands.flatMap((one) => leaves(one, `${path} ${one.name()}`))

const commands = leaves(createProgram(processHost()), 'signet')

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
