import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { repository } from './support/running-stack.js'

const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}

/** They pass on what they do not know: to jest, to the formatter, and to the program of a bench. */
const OTHERS = new Set(['test', 'format', 'chaos'])
const commands = Object.entries(scripts).filter(([name]) => !OTHERS.has(name))

const run = (command: string, ...args: string[]) =>
  spawnSync(process.execPath, [...command.split(' ').slice(1), ...args], {
    cwd: repository,
    encoding: 'utf8',
  })

it.each(commands)('npm run %s does nothing with an option that it does not know', (_, command) => {
  const { status, stdout, stderr } = run(command, '--nosuch')
  expect([status, stdout + stderr]).toEqual([2, expect.stringContaining('--nosuch')])
})

it.each([
  ['auth', 'signin', 'sign-in'],
  ['oauth', 'token=10', 'tokens=1000000'],
  ['dispatch', 'profiles=x', 'profile='],
  ['quick', 'folder=x', 'out=<folder>'],
])('npm run bench -- %s does nothing with %s, and names what it knows', (name, word, known) => {
  const { status, stdout, stderr } = run(scripts['bench'] ?? '', name, word)
  expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining(known)])
  expect(stderr).toContain(`no such argument: ${word}`)
})

it.each([...commands, ['test', scripts['test'] ?? '']])('npm run %s explains itself', (name, command) => {
  const { status, stdout } = run(command, '--help')
  expect([status, stdout]).toEqual([0, expect.stringMatching(new RegExp(`npm (run )?${name}`))])
})
