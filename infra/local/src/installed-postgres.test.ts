import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { installedPostgres } from './installed-postgres.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-system-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('installedPostgres', () => {
  function installed(version: string): string {
    const programs = join(folder, version)
    mkdirSync(programs)
    for (const name of ['postgres', 'initdb'])
      writeFileSync(join(programs, name), `#!/bin/sh\necho "${name} (PostgreSQL) ${version}"\n`, {
        mode: 0o755,
      })
    return programs
  }
  const search = (...folders: string[]) => installedPostgres({ path: folder, folders })

  it('takes the first that is new enough', () => {
    const [old, usable] = [installed('14.19'), installed('17.6')]
    expect(search(old, usable)).toBe(usable)
  })

  it('names what it saw, and the ways out, where there is none', () => {
    const old = installed('14.19')
    expect(() => search(old)).toThrow(
      new RegExp(`others: ${join(old, 'postgres')}\\)\\n  Fix: install PostgreSQL 15 .*\\n.*DATABASE_URL`),
    )
  })
})
