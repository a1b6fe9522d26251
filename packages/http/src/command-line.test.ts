import { spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'

const SCRIPT = `import { runCommandLine } from ${JSON.stringify(new URL('../dist/command-line.js', import.meta.url).href)}
  const say = (text) => ({ summary: 'Say ' + text + '.', run: async () => console.log(text) })
  const commands = {
    greet: say('hello'),
    echo: { summary: 'Repeat.', takesArguments: true, run: async (args) => console.log(args.join('+')) },
    break: { summary: 'Fail.', run: async () => { throw new Error('it broke') } },
  }
  const service = { name: 'signet-test', version: '1.2.3' }
  await runCommandLine({ service, commands, bare: say('nothing asked') }, process.argv.slice(1))`

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', SCRIPT, '--', ...args],
    { encoding: 'utf8' },
  )
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

  it.each(['--help', '-h', 'help'])('explains itself for %s, which is no failure', (argument) => {
    const { status, stdout, stderr } = run(argument)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const part of ['signet-test [command]', 'Say nothing asked.', 'greet', 'break', 'version'])
      expect(stdout).toContain(part)
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
