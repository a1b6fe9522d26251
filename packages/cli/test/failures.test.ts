import { describe, expect, it } from '@jest/globals'
import { useWorld } from './support/world.js'

const world = useWorld()
const list = ['webhooks', 'list']
const PAGE = JSON.stringify({ items: [], next_cursor: 'again' })

describe('exit codes', () => {
  it('0 for help and version, which go to stdout', async () => {
    expect(await world.machine.start(['--version']).ended).toMatchObject({
      code: 0,
      stdout: '0.1.0\n',
      stderr: '',
    })
    expect(await world.machine.start(['webhooks', 'update', '--help']).ended).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  it.each([
    ['no command', []],
    ['a group without its command', ['webhooks']],
    ['an unknown command', ['webhook']],
    ['an unknown option', ['webhooks', 'list', '--all']],
    ['an argument too many', ['whoami', 'really']],
    ['an address that is none', ['whoami', '--url', 'hooks.example.com']],
    ['an address without encryption', ['whoami', '--url', 'http://hooks.example.com']],
    ['an option of the other way to sign in', ['login', '--email', 'ana@example.com']],
  ])('2 for %s', async (_, args) => {
    expect(await world.machine.start(args).ended).toMatchObject({ code: 2, stdout: '' })
    expect(world.service.seen).toEqual([])
  })

  it('2 for what cannot be an id, in words for people', async () => {
    const { code, stderr } = await world.machine.run(['deliveries', 'show', '34', 'abc'])
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: the value 'abc' .*number, such as 42/)])
  })

  it('3 without a token, with a revoked one and with damaged ones, and never repeats them', async () => {
    expect((await world.machine.run(list)).code).toBe(3)
    const revoked = await world.machine.run(list, { env: { SIGNET_TOKEN: 'svp_revoked' } })
    expect(revoked.code).toBe(3)
    expect(revoked.stderr).toContain('SIGNET_TOKEN')
    expect(revoked.stderr).not.toContain('svp_revoked')
    const damaged = await world.machine.run(list, { env: { SIGNET_TOKEN: 'svp_in two\nlines' } })
    expect(damaged.code).toBe(2)
    expect(damaged.stderr).not.toContain('svp_in')
  })

  it('4 when nothing answers', async () => {
    const { env } = world.signedIn()
    const ended = await world.machine.run([...list, '--json'], {
      env: { ...env, SIGNET_URL: 'http://127.0.0.1:9' },
    })
    expect(ended.code).toBe(4)
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: 'network', exit_code: 4 } })
  })

  it('5 when the service fails', async () => {
    world.service.behavior.override = () => ({
      status: 503,
      body: { error: { code: 'unavailable', message: 'Later' } },
    })
    const ended = await world.machine.run(list, world.signedIn())
    expect(ended.code).toBe(5)
    expect(ended.stderr).toContain('503')
  })

  it.each([
    ['a page', { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } }],
    ['other JSON', { status: 200, body: { hello: 'world' } }],
    ['the 404 of another service', { status: 404, body: { detail: 'Not Found' } }],
    ['a redirect', { status: 302, body: '', headers: { location: 'https://evil.example/' } }],
  ])('5 when %s answers in its place', async (_, answer) => {
    world.service.behavior.override = () => answer
    const ended = await world.machine.run(list, world.signedIn())
    expect(ended.code).toBe(5)
    expect(ended.stderr).toContain('SIGNET_URL')
  })

  it('0 whatever the reason phrase of the response is', async () => {
    world.service.behavior.override = () => ({
      reason: 'D\u00e9j\u00e0 vu',
      body: { items: [], limit: 5, next_cursor: '' },
    })
    expect((await world.machine.run(list, world.signedIn())).code).toBe(0)
  })

  // A field that a table shows as a number must not carry an escape sequence to the terminal.
  const hostile = '\u001b[2J'
  const empty = { item: {}, items: [{}], next_cursor: '', endpoint_id: '42', event_id: 'e', secret: 's' }
  const logged = {
    id: '981',
    endpoint_id: '42',
    event_id: 'e',
    event_type: 'webhook.ping',
    status: 1,
    attempts: 1,
  }
  const times = { last_error: '', delivered_at: '', created_at: '', next_attempt_at: '' }
  const attempt = {
    number: hostile,
    started_at: '',
    duration_ms: 1,
    phases: {},
    error: '',
    peer_address: '',
    answer: 'x',
  }
  const attempts = { ...empty, item: { ...logged, ...times, attempt_log: [attempt] } }
  it.each([
    ['webhooks list', { ...empty, items: null }],
    ['webhooks list', { ...empty, items: [null] }],
    ['webhooks list', { ...empty, items: [{ id: '42', url: 'x', events: 'x', status: hostile }] }],
    ['webhooks get 42', { ...empty, item: null }],
    ['webhooks create --to https://a.example --no-events', empty],
    ['webhooks test 42', { ...empty, event_id: {} }],
    ['webhooks rotate 42', { ...empty, secret: {} }],
    ['deliveries list 42', empty],
    ['deliveries show 42 981', { ...empty, item: {} }],
    ['deliveries show 42 981', attempts],
    ['deliveries replay 42 981', empty],
    ['recover list 42', empty],
    ['recover show 42 7', empty],
    ['events samples', [null]],
  ])('5 when a part of the response to "%s" is of another kind: %j', async (command, body) => {
    world.service.behavior.override = () => ({ body })
    const ended = await world.machine.run(command.split(' '), world.signedIn())
    expect(ended.code).toBe(5)
    expect(ended.stderr).toContain('without the JSON of this service')
    expect(ended.stdout).toBe('')
  })

  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  it.each([
    ['is longer than any of this service', list, `{"items":[]}${' '.repeat(64 * 1024 * 1024)}`],
    ['is nested without end', ['api', 'GET', '/v1/webhooks'], `{"items":${deep}}`],
    ['is an error that is nested without end', [...list, '--json'], `{"error":${deep}}`],
    ['is the same page again and again', 'deliveries list 42 --all'.split(' '), PAGE],
    ['is the same page of recoveries again and again', ['recover', 'list', '42'], PAGE],
  ])('5 when a response %s', async (_, args, body) => {
    world.service.behavior.override = () => ({ body })
    const ended = await world.machine.run(args, world.signedIn())
    expect([ended.code, ended.stdout]).toEqual([5, ''])
  })

  it('1 with the time to wait when the service limits', async () => {
    world.service.behavior.override = () => ({
      status: 429,
      headers: { 'retry-after': '7' },
      body: { error: { code: 'too_many_requests', message: 'Too many requests' } },
    })
    const ended = await world.machine.run(list, world.signedIn())
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('Try again in 7 s')
  })
})

describe('output', () => {
  it('is colored when asked for, and not when NO_COLOR is set', async () => {
    const { env } = world.signedIn()
    const args = ['token', 'revoke', 'x']
    expect((await world.machine.run(args, { env: { ...env, FORCE_COLOR: '1' } })).stderr).toContain(
      '\u001b[31m',
    )
    const plain = await world.machine.run(args, { env: { ...env, FORCE_COLOR: '1', NO_COLOR: '1' } })
    expect(plain.stderr).not.toContain('\u001b')
  })

  it('never follows a redirect with the token', async () => {
    const before = world.identity.seen.length
    world.service.behavior.override = () => ({
      status: 307,
      headers: { location: `${world.identity.url}/v1/webhooks` },
    })
    await world.machine.run(list, world.signedIn())
    expect(world.identity.seen).toHaveLength(before)
  })
})
