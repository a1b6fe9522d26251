import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startGuarded } from './child.js'
import { waitUntil } from './wait-until.js'

/** A zombie still has a process entry until its parent collects it, so this reads the state where the system shows it. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && process.platform !== 'linux'
  }
}

describe('startGuarded', () => {
  let folder: string
  let logFile: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'signet-child-'))
    logFile = join(folder, 'log')
  })
  afterEach(() => {
    rmSync(folder, { recursive: true })
  })

  const start = (script: string) =>
    startGuarded({ command: process.execPath, args: ['-e', script], stopSignal: 'TERM', logFile })

  const logged = (text: string) =>
    waitUntil(() => readFileSync(logFile, 'utf8').includes(text) || undefined, {
      describe: text,
    })

  it('asks the program to stop and reports how it ended', async () => {
    const child = await start(
      "process.on('SIGTERM', () => { console.log('bye'); process.exit(3) }); console.log('up'); setInterval(() => {}, 1e3)",
    )
    await logged('up')
    expect(await child.stop()).toEqual({ code: 3, signal: null })
    expect(readFileSync(logFile, 'utf8')).toContain('bye')
  })

  it('kills a program that does not stop in time', async () => {
    const child = await start(
      "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1e3)",
    )
    await logged('up')
    expect(await child.stop(100)).toEqual({ code: null, signal: 'SIGKILL' })
    expect(child.running).toBe(false)
  })

  it('reports when the program ends by itself', async () => {
    const child = await start('process.exit(7)')
    expect(await child.exited).toEqual({ code: 7, signal: null })
  })

  it('leaves nothing behind when its starter is killed with -9', async () => {
    const module = new URL('../dist/child.js', import.meta.url).href
    const script = `
      import { startGuarded } from '${module}'
      const child = await startGuarded({ command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e3)'],
        stopSignal: 'TERM', logFile: '${logFile}' })
      console.log(child.pid)
      setInterval(() => {}, 1e3)`
    const starter = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' })
    const [output] = (await once(starter.stdout, 'data')) as [Buffer]
    const pid = Number(output.toString())
    expect(isRunning(pid)).toBe(true)
    starter.kill('SIGKILL')
    await waitUntil(() => !isRunning(pid) || undefined, { describe: 'end of the child' })
  })
})
