import { describe, expect, it } from '@jest/globals'
import { json } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()
const HOOK = 'https://example.com/hook'

const aWebhook = (...events: string[]) => world.service.addHook(HOOK, events)

const lastBody = () => JSON.parse(world.service.seen.at(-1)?.body ?? '') as unknown

describe('webhooks create', () => {
  it('subscribes to finished summaries unless told otherwise', async () => {
    const create = (...args: string[]) =>
      world.machine.run(['webhooks', 'create', '--to', HOOK, ...args], world.signedIn())
    await create()
    await create('--events', 'summary.completed, webhook.ping')
    await create('--no-events')
    expect(world.service.hooks.map(({ events }) => events)).toEqual([
      ['summary.completed'],
      ['summary.completed', 'webhook.ping'],
      [],
    ])
  })

  it('prints the secret', async () => {
    const args = ['webhooks', 'create', '--to', HOOK]
    const ended = await world.machine.run(args, world.signedIn())
    expect(ended.stdout).toContain(world.service.hooks[0]?.secret)
    expect(ended.stderr).not.toContain('whsec_')
  })

  it.each([
    ['--to', ['webhooks', 'create', '--to', HOOK]],
    ['--to', ['webhooks', 'update', '7', '--to', HOOK, '--no-events']],
    ['--public-url', ['listen', '--create', '--public-url', HOOK]],
    ['The address of this receiver', ['listen', '--create']],
  ])('says what the service has against the url of %s', async (option, args) => {
    const error = { code: 'bad_request', message: 'url must not contain a fragment' }
    world.service.behavior.override = ({ method }) =>
      method === 'GET' ? undefined : { status: 400, body: { error } }
    const ended = await world.machine.run(args, world.signedIn())
    expect([ended.code, ended.stderr]).toEqual([
      1,
      expect.stringContaining(`error: ${option} must not contain a fragment`),
    ])
    // People who passed their own address need no advice to do so.
    expect(ended.stderr.includes('use a tunnel')).toBe(option === 'The address of this receiver')
  })

  it('advises to look first when the answer is lost', async () => {
    world.service.behavior.override = ({ method }) =>
      method === 'POST'
        ? { status: 500, body: { error: { code: 'internal', message: 'Internal error' } } }
        : undefined
    const ended = await world.machine.run(['webhooks', 'create', '--to', HOOK], world.signedIn())
    expect(ended.code).toBe(5)
    expect(ended.stderr).toContain('signet webhooks list')
  })

  it('ends with 1 and the word of the service when the quota is used up', async () => {
    for (let count = 0; count < 5; count += 1) aWebhook()
    const ended = await world.machine.run(['webhooks', 'create', '--to', HOOK, '--json'], world.signedIn())
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(ended.stderr)).toEqual({
      error: { code: 'too_many_requests', message: 'At most 5 webhooks', exit_code: 1 },
    })
  })

  it.each([
    ['create', '--to', HOOK, '--events', 'summary.completed', '--no-events'],
    ['create', '--to', HOOK, '--no-events', '--events', 'summary.completed'],
    ['update', '7', '--events', 'summary.completed', '--no-events'],
    ['update', '7', '--no-events', '--events', 'summary.completed'],
  ])('and update refuse events together with none: %s', async (...args) => {
    const ended = await world.machine.run(['webhooks', ...args], world.signedIn())
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain("'--events <types>' cannot be used with option '--no-events'")
    expect(world.service.seen).toEqual([])
  })

  it.each([
    ['--to', ['webhooks', 'create', '--to']],
    ['--to', ['webhooks', 'update', '7', '--to']],
    ['--public-url', ['listen', '--create', '--public-url']],
  ])('says what an address looks like where %s is none', async (option, args) => {
    for (const address of ['nonsense', 'ftp://example.com/hook', 'https:/example.com']) {
      const ended = await world.machine.run([...args, address], world.signedIn())
      expect([ended.code, ended.stderr]).toEqual([
        2,
        expect.stringMatching(
          new RegExp(`'${option} <address>' .*It must be a URL such as https://example.com/hook`),
        ),
      ])
    }
    expect(world.service.seen).toEqual([])
  })

  it('leaves it to the service whether http is good enough', async () => {
    const args = ['webhooks', 'create', '--to', 'http://localhost:3000/hook']
    expect((await world.machine.run(args, world.signedIn())).code).toBe(0)
    expect(world.service.hooks[0]?.url).toBe('http://localhost:3000/hook')
  })

  it('needs an address', async () => {
    expect((await world.machine.run(['webhooks', 'create'], world.signedIn())).code).toBe(2)
  })
})

describe('webhooks update', () => {
  it('sends the present events again when only the url changes', async () => {
    const { id } = aWebhook('summary.completed', 'webhook.ping')
    const args = ['webhooks', 'update', id, '--to', `${HOOK}/2`, '--json']
    const ended = await world.machine.run(args, world.signedIn())
    expect(lastBody()).toEqual({ url: `${HOOK}/2`, events: ['summary.completed', 'webhook.ping'] })
    expect(json(ended)).toMatchObject({ id, url: `${HOOK}/2`, events: ['summary.completed', 'webhook.ping'] })
  })

  it('leaves the url when only the events change', async () => {
    const { id } = aWebhook('summary.completed')
    await world.machine.run(['webhooks', 'update', id, '--events', 'webhook.ping'], world.signedIn())
    expect(lastBody()).toEqual({ events: ['webhook.ping'] })
  })

  it('clears the events only when asked to', async () => {
    const { id } = aWebhook('summary.completed')
    await world.machine.run(['webhooks', 'update', id, '--no-events'], world.signedIn())
    expect(lastBody()).toEqual({ events: [] })
  })

  it('changes nothing of a webhook that is not there', async () => {
    const ended = await world.machine.run(['webhooks', 'update', '7', '--to', HOOK], world.signedIn())
    expect(ended.code).toBe(1)
    expect(world.service.seen.map(({ method }) => method)).toEqual(['GET'])
  })

  it('refuses to change nothing', async () => {
    expect((await world.machine.run(['webhooks', 'update', '7'], world.signedIn())).code).toBe(2)
  })

  it("takes --url for the service's address, before the command and after it", async () => {
    const { id } = aWebhook('summary.completed')
    const { env } = world.signedIn()
    const update = (to: string) => ['webhooks', 'update', id, '--to', to]
    const service = ['--url', world.service.url]
    const elsewhere = { env: { ...env, SIGNET_URL: 'http://127.0.0.1:1' } }
    expect((await world.machine.run([...service, ...update(`${HOOK}/3`)], elsewhere)).code).toBe(0)
    expect(world.service.hooks[0]?.url).toBe(`${HOOK}/3`)
    expect((await world.machine.run([...update(`${HOOK}/4`), ...service], elsewhere)).code).toBe(0)
    expect(world.service.hooks[0]?.url).toBe(`${HOOK}/4`)
  })
})

describe('the other webhooks commands', () => {
  it('list shows a table, or says that there is nothing', async () => {
    const empty = await world.machine.run(['webhooks', 'list'], world.signedIn())
    expect(empty).toMatchObject({ code: 0, stdout: '' })
    expect(empty.stderr).toContain('signet webhooks create')
    const { id } = aWebhook('summary.completed')
    const ended = await world.machine.run(['webhooks', 'list'], world.signedIn())
    expect(ended.stdout.split('\n')).toEqual([
      'ID  URL                       EVENTS             STATUS  FAILURES  UPDATED'.replace(
        'ID ',
        'ID'.padEnd(id.length + 1),
      ),
      `${id}  ${HOOK}  summary.completed  active  0         2026-01-01 00:00:00Z`,
      '',
    ])
    expect(ended.stdout).not.toContain('\u001b')
  })

  it('list --json prints an array of what the service says', async () => {
    const { secret: _, ...hook } = aWebhook('summary.completed')
    expect(json(await world.machine.run(['webhooks', 'list', '--json'], world.signedIn()))).toEqual([hook])
    expect(json(await world.machine.run(['--json', 'webhooks', 'list'], world.signedIn()))).toEqual([hook])
  })

  it('delete removes it, once', async () => {
    const { id } = aWebhook('summary.completed')
    expect((await world.machine.run(['webhooks', 'delete', id], world.signedIn())).code).toBe(0)
    expect((await world.machine.run(['webhooks', 'delete', id], world.signedIn())).code).toBe(1)
  })

  it.each([
    ['delete', '7'],
    ['test', '7'],
    ['get', '7'],
    ['enable', '7'],
    ['rotate', '7'],
    ['update', '7', '--events', 'summary.completed'],
  ])('%s names the webhook that is not there', async (...args) => {
    const ended = await world.machine.run(['webhooks', ...args], world.signedIn())
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('There is no webhook 7')
  })

  it('test says whether the event was queued', async () => {
    const hook = aWebhook('summary.completed')
    hook.status = 2
    const ended = await world.machine.run(['webhooks', 'test', hook.id], world.signedIn())
    expect(ended).toMatchObject({ code: 1, stdout: expect.stringContaining('not queued') as unknown })
    expect(ended.stderr).toContain('disabled')
  })

  it('get shows since when a webhook fails and why it was disabled', async () => {
    const hook = aWebhook('summary.completed')
    const failing = { consecutive_failures: 20, failing_since: '2026-01-01T00:00:00.000Z' }
    Object.assign(hook, failing, {
      status: 2,
      disabled_at: '2026-01-02T00:00:00.000Z',
      disabled_reason: 'http_503',
    })
    const { stdout } = await world.machine.run(['webhooks', 'get', hook.id], world.signedIn())
    expect(stdout).toMatch(/Failing since +2026-01-01 00:00:00Z/)
    expect(stdout).toMatch(/Disabled +2026-01-02 00:00:00Z \(http_503\)/)
    const { secret: _, ...shown } = hook
    expect(json(await world.machine.run(['webhooks', 'get', hook.id, '--json'], world.signedIn()))).toEqual(
      shown,
    )
  })

  it('enable makes it active again', async () => {
    const hook = aWebhook('summary.completed')
    hook.status = 2
    const ended = await world.machine.run(['webhooks', 'enable', hook.id], world.signedIn())
    expect(ended.stdout).toMatch(/Status +active/)
    expect(hook.status).toBe(1)
  })

  it('rotate prints the next secret once, on stdout alone, and activate and cancel end the wait', async () => {
    const { id } = aWebhook('summary.completed')
    const rotate = (...args: string[]) =>
      world.machine.run(['webhooks', 'rotate', id, ...args], world.signedIn())
    const first = await rotate('--activate-after-hours', '72')
    expect(lastBody()).toEqual({ activate_after_hours: 72 })
    expect(first.stdout).toMatch(/Next secret +whsec_\S+/)
    expect(first.stderr).not.toContain('whsec_')
    expect(first.stderr).toContain(`signet webhooks activate ${id}`)
    const before = world.service.hooks[0]?.secret
    expect((await world.machine.run(['webhooks', 'activate', id], world.signedIn())).code).toBe(0)
    expect(world.service.hooks[0]?.secret).not.toBe(before)
    await rotate()
    expect(world.service.seen.at(-1)?.body).toBe('')
    expect((await world.machine.run(['webhooks', 'cancel', id], world.signedIn())).code).toBe(0)
    expect((await world.machine.run(['webhooks', 'cancel', id], world.signedIn())).code).toBe(1)
  })

  it('rotate at once leaves nothing to activate', async () => {
    const { id } = aWebhook('summary.completed')
    const args = ['webhooks', 'rotate', id, '--activate-after-hours', '0']
    const ended = await world.machine.run(args, world.signedIn())
    expect(ended.stdout).toMatch(/Active from +now/)
    expect(ended.stderr).not.toContain('signet webhooks activate')
  })

  it.each([['0'], ['../tokens'], ['1e3'], ['']])('refuses %j as an id without a request', async (id) => {
    expect((await world.machine.run(['webhooks', 'delete', id], world.signedIn())).code).toBe(2)
    expect(world.service.seen).toEqual([])
  })
})

describe('events samples', () => {
  it('passes the type and the limit on', async () => {
    const args = ['events', 'samples', '--event', 'webhook.ping', '--limit', '2', '--json']
    const ended = await world.machine.run(args, world.signedIn())
    expect(world.service.seen.at(-1)?.url.search).toBe('?event=webhook.ping&limit=2')
    expect(json(ended)).toMatchObject([{ id: 'evt_sample_summary_completed' }])
  })

  it('lets no terminal sequence of a payload through', async () => {
    const ended = await world.machine.run(['events', 'samples'], world.signedIn())
    expect(ended.stdout).toContain('\\u001b[31msync')
    expect(ended.stdout).not.toContain('\u001b')
  })
})
