import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from '@jest/globals'

const PROGRAM = fileURLToPath(new URL('../../checks/docs.mjs', import.meta.url))

let apps: string
beforeEach(() => {
  apps = mkdtempSync(join(tmpdir(), 'signet-docs-'))
  mkdirSync(join(apps, 'one/dist'), { recursive: true })
  mkdirSync(join(apps, 'without-docs'))
  writeFileSync(join(apps, 'one/package.json'), '{"type":"module"}')
  writeFileSync(
    join(apps, 'one/dist/docs.js'),
    "export const generatedDocs = () => ({ 'docs/a.md': '# A\\n', '.env.example': 'A=1\\n' })",
  )
})
afterEach(() => {
  rmSync(apps, { recursive: true })
})

const run = (...args: string[]) =>
  spawnSync(process.execPath, [PROGRAM, `--apps=${apps}`, ...args], { encoding: 'utf8' })

it('names every stale document and fails, then writes them, then is content', () => {
  const stale = run()
  expect(stale).toMatchObject({ status: 1, stdout: 'stale: one/docs/a.md\nstale: one/.env.example\n' })
  expect(run('--write')).toMatchObject({
    status: 0,
    stdout: 'wrote: one/docs/a.md\nwrote: one/.env.example\n',
  })
  expect(readFileSync(join(apps, 'one/docs/a.md'), 'utf8')).toBe('# A\n')
  expect(run()).toMatchObject({ status: 0, stdout: '' })
  writeFileSync(join(apps, 'one/docs/a.md'), '# changed by hand\n')
  expect(run()).toMatchObject({ status: 1, stdout: 'stale: one/docs/a.md\n' })
})
