import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { readEnvironment, readVariables } from './environment.js'
import { ConfigError } from './settings.js'

const directory = mkdtempSync(join(tmpdir(), 'signet-env-'))
afterAll(() => rmSync(directory, { recursive: true }))

it('lets the environment win over the .env file', () => {
  writeFileSync(join(directory, '.env'), 'A=file\nB="quoted # not a comment"\n')
  expect(readEnvironment({ A: 'process' }, directory)).toMatchObject({
    A: 'process',
    B: 'quoted # not a comment',
  })
})

// Files as people write them. `util.parseEnv` of Node 20 reads the third and all after it differently.
it.each([
  ['lines that end as on Windows', 'A=1\r\nB="2"\r\n'],
  ['`export`, quotes and comments', `# it's "new"\nexport A='1' # one\nB="2"\n`],
  ['lines with nothing but spaces', '  \n\n \t\nA=1\n   \nB=2\n'],
  ['indented comments', '  # one\nA=1\n\t# two\nB=2\n'],
  ['tabs', '\tA\t=\t1\n\tB=2'],
  ['a line that sets nothing', 'to do\nA=1\nto do\nB=2\n'],
  ['a byte order mark', '\u{feff}A=1\nB=2\n'],
])('reads %s', (_, content) => {
  const file = join(directory, 'lines.env')
  writeFileSync(file, content)
  expect(readVariables(file)).toEqual({ A: '1', B: '2' })
})

it('reads a key of several lines, and line breaks that are written as \\n', () => {
  const file = join(directory, 'keys.env')
  writeFileSync(file, `A="-----BEGIN KEY-----\nMII=\n-----END KEY-----"\nB="one\\ntwo"\nC='one\\ntwo'\n`)
  expect(readVariables(file)).toEqual({
    A: '-----BEGIN KEY-----\nMII=\n-----END KEY-----',
    B: 'one\ntwo',
    C: 'one\\ntwo',
  })
})

it('does without a .env file', () => {
  expect(readEnvironment({ A: '1' }, join(directory, 'missing'))).toEqual({ A: '1' })
})

it('reports a .env that cannot be read, such as the directory that Docker makes of a mount of a missing file', () => {
  const mounted = join(directory, 'mounted')
  mkdirSync(join(mounted, '.env'), { recursive: true })
  expect(() => readEnvironment({}, mounted)).toThrow(
    new ConfigError([`${mounted}/.env cannot be read: EISDIR: illegal operation on a directory, read`]),
  )
})
