import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { readEnvironment } from './environment.js'

const directory = mkdtempSync(join(tmpdir(), 'signet-env-'))
afterAll(() => rmSync(directory, { recursive: true }))

it('lets the environment win over the .env file', () => {
  writeFileSync(join(directory, '.env'), 'A=file\nB="quoted # not a comment"\n')
  expect(readEnvironment({ A: 'process' }, directory)).toMatchObject({
    A: 'process',
    B: 'quoted # not a comment',
  })
})

it('does without a .env file', () => {
  expect(readEnvironment({ A: '1' }, join(directory, 'missing'))).toEqual({ A: '1' })
})
