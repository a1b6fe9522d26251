import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from '@jest/globals'

const PROGRAM = fileURLToPath(new URL('../../checks/records.mjs', import.meta.url))
const WELL_FORMED = '# 0001 Title\n\n## Context\n\nWhy?\n\n## Decision\n\nYes.\n\n**Digests.** More on it.\n'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-records-'))
  writeFileSync(
    join(folder, 'README.md'),
    '| 0001   | [Title](0001-title.md) | 2026-11-20 | accepted | 0002 |\n',
  )
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function check(record: string, name = '0001-title.md') {
  writeFileSync(join(folder, name), record)
  const { status, stdout } = spawnSync(process.execPath, [PROGRAM, `--folder=${folder}`], {
    encoding: 'utf8',
  })
  return { status, problems: stdout.split('\n').filter(Boolean) }
}

it('accepts the four sections in their order, the last two of them optional', () => {
  expect(check(WELL_FORMED)).toEqual({ status: 0, problems: [] })
  const whole = `${WELL_FORMED}\n## Consequences\n\nSome.\n\n## Considered\n\n\`\`\`md\n## Anything\n\`\`\`\n`
  expect(check(whole)).toEqual({ status: 0, problems: [] })
})

it.each([
  ['another section', `${WELL_FORMED}\n## Rejected\n\nNo.\n`, /:13 {2}"## Rejected" is not one of/],
  [
    'the wrong order',
    `${WELL_FORMED}\n## Considered\n\nNo.\n\n## Consequences\n\nSome.\n`,
    /:17 .* out of order/,
  ],
  ['a repeated section', `${WELL_FORMED}\n## Decision\n\nNo.\n`, /:13 .* repeated/],
  ['a missing section', '# 0001 Title\n\n## Decision\n\nYes.\n', /:1 {2}there is no section "## Context"/],
  ['text before the sections', WELL_FORMED.replace('## Context', 'Text.\n\n## Context'), /:3 {2}text before/],
  [
    'a label for a section',
    `${WELL_FORMED}\n**Trade-off.** Some.\n`,
    /:13 {2}\*\*Trade-off\.\*\* stands for/,
  ],
  ['the number of another record', WELL_FORMED.replace('0001', '0003'), /:1 {2}the heading must begin/],
])('refuses %s', (_what, record, problem) => {
  expect(check(record)).toEqual({ status: 1, problems: [expect.stringMatching(problem)] })
})

it('refuses a superseded record that is still there', () => {
  expect(check(WELL_FORMED.replace('0001', '0002'), '0002-old.md')).toEqual({
    status: 1,
    problems: ['0002-old.md:1  is superseded by 0001: merge it and delete it'],
  })
})
