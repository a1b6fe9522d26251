import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { takeLock } from '../lock.mjs'

const folder = mkdtempSync(join(tmpdir(), 'signet-lock-'))
afterAll(() => rmSync(folder, { recursive: true }))
const lock = (name: string) => join(folder, name, 'start.lock')

it('refuses a second one and names the process of the first', () => {
  const { release } = takeLock(lock('busy'))
  expect(takeLock(lock('busy'))).toEqual({ owner: process.pid })
  release?.()
  expect(takeLock(lock('busy'))).toHaveProperty('release')
})

it('takes over the lock of a process that is gone', () => {
  takeLock(lock('stale')).release?.()
  writeFileSync(lock('stale'), '999999999')
  takeLock(lock('stale')).release?.()
  expect(existsSync(lock('stale'))).toBe(false)
})

it('does not release a lock that somebody else holds by now', () => {
  const { release } = takeLock(lock('other'))
  writeFileSync(lock('other'), '1')
  release?.()
  expect(existsSync(lock('other'))).toBe(true)
})
