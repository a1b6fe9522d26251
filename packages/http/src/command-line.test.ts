import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from '@jest/globals'

const SCRIPT = `import { runCommandLine } from ${JSON.stringify(new URL('../dist/command-line.js', import.meta.url).href)}
  const say = (text) => ({ summary: 'Say ' + text + '.', run: async () => console.log(text) })
  const commands = {
    greet: say('hello'),
    echo: { summary: 'Repeat.', takesArguments: true, run: async (args) => console.log(args.join('+')) },
    break: { summary: 'Fail.', run: async () => { throw new Error('it broke') } },
  }
  const service = { name: 'signet-test', version: '1.2.3' }
  const program = process.env.PROGRAM
  await runCommandLine({ service, program, commands, bare: say('nothing asked') }, process.argv.slice(1))`

const ARGUMENTS = ['--input-type=module', '--eval', SCRIPT, '--']

const run = (...args: string[]) => runWith({}, ...args)

function runWith(env: Record<string, string>, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...ARGUMENTS, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return { status, stdout, stderr }
}

describe('the command line of a service', () => {
  it('runs the named command, or the bare without one', () => {
    expect(run('greet')).toEqual({ status: 0, stdout: 'hello\n', stderr: '' })
    expect(run()).toEqual({ status: 0, stdout: 'nothing asked\n', stderr: '' })
  })

  it('hands arguments on to commands that take some, even those it would understand itself', () => {
    expect(run('echo', 'a', '--help')).toMatchObject({ status: 0, stdout: 'a+--help\n' })
  })

  it.each(['version', '--version'])('prints name and version for %s', (argument) => {
    expect(run(argument)).toEqual({ status: 0, stdout: 'signet-test 1.2.3\n', stderr: '' })
  })

  it.each(['--help', '-h', 'help'])('explains itself for %s, which is not a failure', (argument) => {
    const { status, stdout, stderr } = run(argument)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const part of ['signet-test [command]', 'Say nothing asked.', 'greet', 'break', 'version'])
      expect(stdout).toContain(part)
  })

  it('is called by the command that people type, where there is one', () => {
    expect(runWith({ PROGRAM: 'tested' }, '--help').stdout).toContain('Usage: tested [command]')
  })

  it('prints the message of a command that fails and ends with 1', () => {
    expect(run('break')).toEqual({ status: 1, stdout: '', stderr: 'it broke\n' })
  })

  it.each([['toString'], ['grete'], ['greet', 'loudly'], ['version', 'please']])(
    'ends with 2 and the usage for what it does not know: %s',
    (...args) => {
      const { status, stdout, stderr } = run(...args)
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
      expect(stderr).toContain(`Unknown command: ${args.join(' ')}\n`)
      expect(stderr).toContain('Usage: signet-test')
    },
  )
})

describe('what a service prints for a person', () => {
  it.each([
    ['--help', 'stdout', 0],
    ['--version', 'stdout', 0],
    ['grete', 'stderr', 2],
    ['break', 'stderr', 1],
  ] as const)('%s does not fail where nobody reads %s', async (argument, unread, status) => {
    const child = spawn(process.execPath, [...ARGUMENTS, argument])
    // Closes the pipe before the program has started.
    child[unread].destroy()
    const other = unread === 'stdout' ? child.stderr : child.stdout
    const [printed] = await Promise.all([text(other), once(child, 'close')])
    expect([child.exitCode, printed]).toEqual([status, ''])
  })

  const full = '/dev/full'
  const onFullDisk = existsSync(full) ? it.each(['--help', '--version']) : it.skip.each([''])
  onFullDisk('is missed in one line if the disk is full: %s', async (argument) => {
    const output = openSync(full, 'w')
    const child = spawn(process.execPath, [...ARGUMENTS, argument], { stdio: ['ignore', output, 'pipe'] })
    closeSync(output)
    const [printed] = await Promise.all([child.stderr ? text(child.stderr) : '', once(child, 'close')])
    expect([child.exitCode, printed]).toEqual([1, 'The output cannot be written (ENOSPC)\n'])
  })
})
