import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { MAIN } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()

describe('without a terminal', () => {
  it.each([['login'], ['token', 'list']])(
    '%s starts no sign-in by browser that nobody would see',
    async (...args) => {
      const ended = await world.machine.run(args, { env: { BROWSER: undefined } })
      expect(ended).toMatchObject({ code: 3, stdout: '' })
      expect(ended.stderr).toContain('There is no terminal')
      expect(ended.stderr).toContain('SIGNET_TOKEN')
      expect(world.service.seen).toEqual([])
    },
  )
})

describe('errors', () => {
  const hasSequence = (text: string) => text.includes('\u001b') || text.includes('\u009b')
  const ESCAPE = '\u001b[31m\u009b'
  it.each([
    ['a command', [ESCAPE]],
    ['an option', ['whoami', `--${ESCAPE}`]],
    ['an argument', ['webhooks', 'get', ESCAPE]],
    ['an address', ['whoami', '--url', ESCAPE]],
    ['a file', ['api', 'POST', '/v1/webhooks', '--data', `@${ESCAPE}`]],
    ['a profile', ['profiles', '--profile', ESCAPE]],
  ])('show %s without its terminal sequences', async (_what, args) => {
    for (const more of [[], ['--json']]) {
      const { code, stdout, stderr } = await world.machine.run([...args, ...more], world.signedIn())
      expect(code).toBe(2)
      expect(hasSequence(stdout + stderr)).toBe(false)
    }
  })

  it.each([
    ['a command', ['bogus'], /unknown command 'bogus' \(Did you mean \w+\?\)$/],
    ['a command of a group', ['webhooks', 'lst'], /unknown command 'lst' \(Did you mean .+\?\)$/],
    ['an option', ['webhooks', 'list', '--jso'], /unknown option '--jso' \(Did you mean --json\?\)$/],
    ['a command with a line break', ['log\nin'], /unknown command 'log\\u000ain' \(Did you mean login\?\)$/],
    ['a guess of its own', ['x\n(Did you mean y?)'], /unknown command 'x\\u000a\(Did you mean y\?\)'$/],
  ])('guess what was meant by %s in the same line', async (_what, args, message) => {
    const ended = await world.machine.run(args)
    expect([ended.code, ended.stderr.split('\n')[0]]).toEqual([2, expect.stringMatching(message)])
    const { stderr } = await world.machine.run([...args, '--json'])
    expect(JSON.parse(stderr)).toMatchObject({
      error: { message: expect.not.stringMatching(/\n\(Did you mean .+\?\)$/) as unknown },
    })
  })

  it('show what the service says without its terminal sequences', async () => {
    world.service.behavior.override = () => ({
      status: 400,
      body: { error: { code: ESCAPE, message: `no ${ESCAPE}` } },
    })
    for (const more of [[], ['--json']]) {
      const { code, stderr } = await world.machine.run(['webhooks', 'list', ...more], world.signedIn())
      expect(code).toBe(1)
      expect(hasSequence(stderr)).toBe(false)
      expect(stderr).toContain('u001b')
    }
  })
})

describe('a reader that goes away', () => {
  const shell = (command: string) =>
    spawn('sh', ['-c', command, process.execPath, MAIN], {
      env: { PATH: process.env['PATH'], HOME: world.machine.home, ...world.signedIn().env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  it('ends a command quietly', async () => {
    const child = shell('"$0" "$1" --help | true; "$0" "$1" no-such-command 2>&1 | true')
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    expect(await once(child, 'close')).toEqual([0, null])
    expect(said).toBe('')
  })

  it('lets a receiver delete its webhook', async () => {
    const running = world.machine.start(['listen', '--create'], world.signedIn())
    const hook = await waitFor(() => running.stdout().includes('Listening') && world.service.hooks[0])
    running.child.stdout?.destroy()
    await waitFor(async () => {
      if (world.service.hooks.length === 0) return true
      await world.service.deliver(hook, { type: 'webhook.ping' }).catch(() => undefined)
      return false
    })
    expect(await running.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('    at ') })
  })

  const test = process.platform === 'linux' ? it : it.skip
  test('says that a full disk took no output', async () => {
    const child = shell('"$0" "$1" --help > /dev/full')
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    expect(await once(child, 'close')).toEqual([74, null])
    expect(said).toBe('error: The output cannot be written (ENOSPC)\n')
  })
})
