import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from '@jest/globals'

const PROGRAM = fileURLToPath(new URL('../../checks/threat-model.mjs', import.meta.url))
const HEAD =
  '# Threats\n\n## Checks\n\nTests are in `nowhere.test.ts` (N) and `src/config/config.test.ts` (C).\n\n'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-threats-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function check(tests: string): string[] {
  const page = join(folder, 'threat-model.md')
  writeFileSync(
    page,
    `${HEAD}| Attacker | Attack | Defense | Test |\n| - | - | - | - |\n| a | b | c | ${tests} |\n`,
  )
  const { stdout } = spawnSync(process.execPath, [PROGRAM, `--page=${page}`], { encoding: 'utf8' })
  return stdout.split('\n').filter(Boolean)
}

it.each(['C "want all of a provider that is switched on, …"', '`src/config/config.test.ts`: "refuse …"'])(
  'accepts the title of a test that is there: %s',
  (tests) => {
    expect(check(tests)).toEqual([])
  },
)

it.each([
  ['C "want all of a provider that is switched off, …"', 'has no test "want all of'],
  ['`packages/jwt/src/none.test.ts`', 'there is no packages/jwt/src/none.test.ts'],
  ['N "anything"', 'there is no apps/auth/test/nowhere.test.ts'],
  ['"anything"', '"anything" stands behind no file'],
])('names what is not there: %s', (tests, problem) => {
  expect(check(tests)).toEqual([expect.stringContaining(problem)])
  expect(check(tests)[0]).toMatch(/^apps\/auth\/docs\/threat-model\.md:9 {2}/)
})
