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
      world.machine.run(['webhooks', 'create', '--url', HOOK, ...args], world.signedIn())
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
    const args = ['webhooks', 'create', '--url', HOOK]
    const ended = await world.machine.run(args, world.signedIn())
    expect(ended.stdout).toContain(world.service.hooks[0]?.secret)
    expect(ended.stderr).not.toContain('whsec_')
  })

  it('advises to look first when the answer is lost', async () => {
    world.service.behaviour.override = ({ method }) =>
      method === 'POST'
        ? { status: 500, body: { error: { code: 'internal', message: 'Internal error' } } }
        : undefined
    const ended = await world.machine.run(['webhooks', 'create', '--url', HOOK], world.signedIn())
    expect(ended.code).toBe(5)
    expect(ended.stderr).toContain('signet webhooks list')
  })

  it('ends with 1 and the word of the service when the quota is used up', async () => {
    for (let count = 0; count < 5; count += 1) aWebhook()
    const ended = await world.machine.run(['webhooks', 'create', '--url', HOOK, '--json'], world.signedIn())
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(ended.stderr)).toEqual({
      error: { code: 'too_many_requests', message: 'At most 5 webhooks', exit_code: 1 },
    })
  })

  it('needs a url', async () => {
    expect((await world.machine.run(['webhooks', 'create'], world.signedIn())).code).toBe(2)
  })
})

describe('webhooks update', () => {
  it('sends the present events again when only the url changes', async () => {
    const { id } = aWebhook('summary.completed', 'webhook.ping')
    const args = ['webhooks', 'update', id, '--url', `${HOOK}/2`, '--json']
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
    const ended = await world.machine.run(['webhooks', 'update', '7', '--url', HOOK], world.signedIn())
    expect(ended.code).toBe(1)
    expect(world.service.seen.map(({ method }) => method)).toEqual(['GET'])
  })

  it('refuses to change nothing', async () => {
    expect((await world.machine.run(['webhooks', 'update', '7'], world.signedIn())).code).toBe(2)
  })

  it("takes the service's address before the command", async () => {
    const { id } = aWebhook('summary.completed')
    const args = ['--url', world.service.url, 'webhooks', 'update', id, '--url', `${HOOK}/3`]
    const { env } = world.signedIn()
    const ended = await world.machine.run(args, { env: { ...env, SIGNET_URL: '' } })
    expect(ended.code).toBe(0)
    expect(world.service.hooks[0]?.url).toBe(`${HOOK}/3`)
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
    ['deliveries', '7'],
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
    expect(ended.stdout).toContain('not queued')
    expect(ended.stderr).toContain('disabled')
  })

  it('deliveries passes the page on and shows words for numbers', async () => {
    const { id } = aWebhook('summary.completed')
    const args = ['webhooks', 'deliveries', id, '--page', '2', '--page-size', '50']
    const ended = await world.machine.run(args, world.signedIn())
    expect(world.service.seen.at(-1)?.url.search).toBe('?page=2&page_size=50')
    expect(ended.stdout).toMatch(
      /981 +evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0 +webhook.ping +pending +2 +http_503/,
    )
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
