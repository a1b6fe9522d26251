import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { resetStores } from './databases.js'

const given = process.env['REDIS_URL']
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-reset-'))
  process.env['REDIS_URL'] = 'redis://127.0.0.1:1'
})
afterEach(() => {
  if (given === undefined) delete process.env['REDIS_URL']
  else process.env['REDIS_URL'] = given
  rmSync(folder, { recursive: true, force: true })
})

it('a reset forgets nothing where a part of the data is on a server that was given', () => {
  expect(() => resetStores(folder)).toThrow('--reset does not touch the server of ')
  expect(existsSync(folder)).toBe(true)
})
