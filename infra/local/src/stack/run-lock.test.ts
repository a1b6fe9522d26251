import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { takeRunLock } from './run-lock.js'

const folder = mkdtempSync(join(tmpdir(), 'signet-lock-'))
afterAll(() => rmSync(folder, { recursive: true }))
const lock = (name: string) => join(folder, name, 'start.lock')

it('refuses a second stack and names the process of the first', () => {
  const release = takeRunLock(lock('busy'))
  expect(() => takeRunLock(lock('busy'))).toThrow(`process ${process.pid}`)
  release()
  takeRunLock(lock('busy'))()
})

it('takes over the lock of a process that is gone', () => {
  takeRunLock(lock('stale'))()
  writeFileSync(lock('stale'), '999999999')
  takeRunLock(lock('stale'))()
  expect(existsSync(lock('stale'))).toBe(false)
})

it('does not release a lock that somebody else holds by now', () => {
  const release = takeRunLock(lock('other'))
  writeFileSync(lock('other'), '1')
  release()
  expect(existsSync(lock('other'))).toBe(true)
})
