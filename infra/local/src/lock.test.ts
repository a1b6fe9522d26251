import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
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
  symlinkSync('999999999', lock('stale'))
  const { release } = takeLock(lock('stale'))
  expect(readlinkSync(lock('stale'))).toBe(String(process.pid))
  release?.()
  expect(() => readlinkSync(lock('stale'))).toThrow('ENOENT')
})

it('does not release a lock that somebody else holds by now', () => {
  const { release } = takeLock(lock('other'))
  rmSync(lock('other'))
  symlinkSync('1', lock('other'))
  release?.()
  expect(readlinkSync(lock('other'))).toBe('1')
})

it('is given to one of many processes that find a stale one at the same time', async () => {
  takeLock(lock('race')).release?.()
  const module = new URL('../lock.mjs', import.meta.url).href
  const script = `
    import { takeLock } from '${module}'
    const { release } = takeLock(${JSON.stringify(lock('race'))})
    console.log(release ? 'mine' : 'taken')
    process.stdin.resume()` // the holder must stay alive while the others look
  for (let round = 0; round < 3; round += 1) {
    symlinkSync('999999999', lock('race'))
    const racers = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
    )
    const said = await Promise.all(
      racers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()),
    )
    expect(said.filter((word) => word === 'mine')).toHaveLength(1)
    for (const racer of racers) racer.kill('SIGKILL')
    rmSync(lock('race'))
  }
})
