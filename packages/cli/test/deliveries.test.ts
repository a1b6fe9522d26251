import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import type { Delivery, DeliveryDetail } from '../src/api/types.js'
import { json } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()

const aDelivery = (id: string, more: Partial<Delivery> = {}): Delivery => ({
  id,
  endpoint_id: '42',
  event_id: `evt_${id}`,
  event_type: 'summary.completed',
  status: 0,
  attempts: 0,
  last_error: '',
  delivered_at: '',
  created_at: '2026-01-01T00:00:00.000Z',
  ...more,
})

const minutesLater = (minutes: number) => new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).toISOString()

describe('deliveries list', () => {
  it('passes the page on and shows words for numbers', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    const args = ['deliveries', 'list', id, '--page', '2', '--page-size', '50']
    const ended = await world.machine.run(args, world.signedIn())
    expect(world.service.seen.at(-1)?.url.search).toBe('?page=2&page_size=50')
    expect(ended.stdout).toMatch(
      /981 +evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0 +webhook.ping +pending +2 +http_503/,
    )
  })

  it('names the webhook that is not there', async () => {
    const ended = await world.machine.run(['deliveries', 'list', '7'], world.signedIn())
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('There is no webhook 7')
  })
})

describe('deliveries list with filters', () => {
  const list = (id: string, ...args: string[]) =>
    world.machine.run(['deliveries', 'list', id, ...args], world.signedIn())

  it('passes them on in the words of the service', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    const filters = ['--status', 'failed', '--event-type', 'webhook.ping', '--event-id', 'evt_1']
    await list(id, ...filters, '--since', '2026-01-01T01:00:00+01:00', '--until', '2026-01-02T00:00Z')
    expect(Object.fromEntries(world.service.seen.at(-1)?.url.searchParams ?? [])).toEqual({
      status: '2',
      event_type: 'webhook.ping',
      event_id: 'evt_1',
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
    })
    const before = Date.now() - 7_200_000
    await list(id, '--since', '2h')
    const since = Date.parse(world.service.seen.at(-1)?.url.searchParams.get('since') ?? '')
    expect(since).toBeGreaterThanOrEqual(before)
    expect(since).toBeLessThanOrEqual(Date.now() - 7_200_000)
  })

  it.each(['2026-01-01', '2026-01-01T00:00', '2026-01-01 00:00'])(
    'takes %s, which names no zone, as local time',
    async (since) => {
      const { id } = world.service.addHook('https://example.com/hook', [])
      const { env } = world.signedIn()
      const args = ['deliveries', 'list', id, '--since', since]
      await world.machine.start(args, { env: { ...env, TZ: 'America/New_York' } }).ended
      expect(world.service.seen.at(-1)?.url.searchParams.get('since')).toBe('2026-01-01T05:00:00.000Z')
    },
  )

  it('says that there are more, and shows all of them with --all', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    world.service.log.push(...['3', '2', '1'].map((one) => aDelivery(one)))
    const first = await list(id, '--page-size', '2')
    expect(first.stderr).toContain('--all')
    expect((await list(id, '--page-size', '1', '--page', '1')).stderr).toContain('--page 2 shows the next')
    const all = await list(id, '--page-size', '2', '--all', '--json')
    expect(json<Delivery[]>(all).map((one) => one.id)).toEqual(['3', '2', '1'])
    expect(all.stderr).toBe('')
  })

  it('waits with --all when the log has more pages than a minute allows requests', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    world.service.log.push(...['3', '2', '1'].map((one) => aDelivery(one)))
    let requests = 0
    world.service.behavior.override = () => {
      requests += 1
      if (requests !== 2) return undefined
      const body = { error: { code: 'too_many_requests', message: 'Too many requests' } }
      return { status: 429, headers: { 'retry-after': '1' }, body }
    }
    const all = await list(id, '--page-size', '1', '--all')
    expect([all.code, requests]).toEqual([0, 4])
    expect(all.stdout.match(/evt_\d/g)).toEqual(['evt_3', 'evt_2', 'evt_1'])
    expect(all.stderr).toBe('Too many requests. Going on in 1 s, with 1 read so far.\n')
  })

  it('can be interrupted while it waits', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    const body = { error: { code: 'too_many_requests', message: 'Too many requests' } }
    world.service.behavior.override = () => ({ status: 429, headers: { 'retry-after': '60' }, body })
    const running = world.machine.start(['deliveries', 'list', id, '--all'], world.signedIn())
    await waitFor(() => running.stderr().includes('Going on in 60 s'))
    running.child.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' })
  })

  it('fails with --all when it would have to wait for long', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    const body = { error: { code: 'too_many_requests', message: 'Too many requests' } }
    world.service.behavior.override = () => ({ status: 429, headers: { 'retry-after': '3600' }, body })
    const all = await list(id, '--all')
    expect([all.code, all.stderr]).toEqual([1, expect.stringContaining('Try again in 3600 s.')])
  })

  it.each([
    ['--status', 'lost'],
    ['--since', 'yesterday'],
    ['--until', '2026-13-01'],
    ['--since', '2026-01'],
    ['--since', '2026-02-30'],
    ['--since', '2026-02-30T09:00:00Z'],
    ['--until', '2026-04-31 09:00'],
    ['--until', '2026-04-30 (noon)'],
    ['--page', '2', '--status', 'failed'],
    ['--page', '2', '--all'],
  ])('asks nothing for %s %s', async (...args) => {
    expect((await list('42', ...args)).code).toBe(2)
    expect(world.service.seen).toEqual([])
  })
})

describe('deliveries show', () => {
  it('shows each attempt and how its response began', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    world.service.log.push(aDelivery('7', { status: 2, attempts: 1, last_error: 'http_503' }))
    const args = ['deliveries', 'show', id, '7']
    const { stdout } = await world.machine.run(args, world.signedIn())
    expect(stdout).toMatch(/Event +summary\.completed {2}evt_7\n/)
    expect(stdout).toMatch(/1 +2026-01-01 00:00:01Z +http_503 +37 +dns 1, first byte 20 +93\.184\.215\.14/)
    expect(stdout).toMatch(/2 +2026-01-01 00:01:01Z +certificate_expired +9 +- /)
    expect(stdout).toContain('Response to attempt 1\nNot \\u001b[31mnow')
    const shown = json(await world.machine.run([...args, '--json'], world.signedIn()))
    expect(shown).toMatchObject({ id: '7', attempt_log: [{ number: 1 }, { number: 2 }] })
  })

  it('names the delivery that is not there', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    const ended = await world.machine.run(['deliveries', 'show', id, '8'], world.signedIn())
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain(`There is no delivery 8 of webhook ${id}`)
  })
})

describe('deliveries list --watch', () => {
  const watching = (...args: string[]) => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    const running = world.machine.start(['deliveries', 'list', id, '--watch', ...args], world.signedIn())
    const lines = () => running.stdout().split('\n').filter(Boolean)
    return { running, lines }
  }

  it('prints what is new or has changed, once each, oldest first, until it is interrupted', async () => {
    world.service.log.push(aDelivery('2'), aDelivery('1', { status: 1, attempts: 1 }))
    const { running, lines } = watching('--json')
    await waitFor(() => lines().length === 2, { describe: running.stderr() })
    world.service.log[0] = aDelivery('2', { status: 2, attempts: 6, last_error: 'http_503' })
    world.service.log.unshift(aDelivery('3'))
    await waitFor(() => lines().length === 4)
    running.child.kill('SIGINT')
    const ended = await running.ended
    expect(ended.code).toBe(0)
    const shown = lines().map((line) => JSON.parse(line) as Delivery)
    expect(shown.map(({ id, status }) => [id, status])).toEqual([
      ['1', 1],
      ['2', 0],
      ['2', 2],
      ['3', 0],
    ])
  })

  it('misses nothing of a burst, nor a change behind it', async () => {
    world.service.log.push(aDelivery('one'), aDelivery('waiting'))
    const { running, lines } = watching('--json')
    await waitFor(() => lines().length === 2, { describe: running.stderr() })
    const created_at = '2026-01-01T01:00:00.000Z'
    world.service.log[1] = aDelivery('waiting', { status: 1, attempts: 1 })
    const burst = Array.from({ length: 250 }, (_, i) => aDelivery(`new-${i}`, { status: 1, created_at }))
    world.service.log.unshift(...burst)
    await waitFor(() => lines().length === 253)
    running.child.kill('SIGINT')
    await running.ended
    const ids = lines().map((line) => (JSON.parse(line) as Delivery).id)
    expect(ids.slice(0, 3)).toEqual(['waiting', 'one', 'waiting'])
    expect(new Set(ids).size).toBe(252)
  })

  it('sees a change far behind newer ones, without reading all that lies between', async () => {
    world.service.log.push(aDelivery('waiting'))
    const { running, lines } = watching('--json', '--page-size', '1')
    await waitFor(() => lines().length === 1, { describe: running.stderr() })
    const newer = Array.from({ length: 300 }, (_, i) =>
      aDelivery(`new-${i}`, { status: 1, created_at: minutesLater(300 - i) }),
    )
    world.service.log.unshift(...newer)
    await waitFor(() => lines().length === 301)
    const before = world.service.seen.length
    world.service.log[300] = aDelivery('waiting', { status: 1, attempts: 1 })
    await waitFor(() => lines().length === 302)
    running.child.kill('SIGINT')
    await running.ended
    const { next_attempt_at: _, attempt_log: __, ...shown } = JSON.parse(lines()[301] ?? '') as DeliveryDetail
    expect([shown, lines()[301]]).toEqual([world.service.log[300], JSON.stringify(shown)])
    const asked = world.service.seen.slice(before).map(({ url }) => url.pathname.split('/')[5] ?? url.search)
    expect(new Set(asked)).toEqual(new Set(['?page_size=100', 'waiting']))
  })

  it('shows nothing that was there before its first page', async () => {
    world.service.log.push(
      ...Array.from({ length: 30 }, (_, i) => aDelivery(`old-${i}`, { created_at: minutesLater(-i) })),
    )
    const { running, lines } = watching('--json')
    await waitFor(() => lines().length === 20, { describe: running.stderr() })
    world.service.log.unshift(aDelivery('new', { created_at: minutesLater(1) }))
    await waitFor(() => lines().some((line) => line.includes('"new"')))
    running.child.kill('SIGINT')
    await running.ended
    expect(lines()).toHaveLength(21)
  })

  it('waits as long as a rate limit says, and says it once', async () => {
    world.service.log.push(aDelivery('1'))
    const { running, lines } = watching()
    await waitFor(() => lines().length === 1, { describe: running.stderr() })
    const refusedAt: number[] = []
    world.service.behavior.override = () => {
      refusedAt.push(performance.now())
      const body = { error: { code: 'too_many_requests', message: 'Too many requests' } }
      return { status: 429, headers: { 'retry-after': '4' }, body }
    }
    await waitFor(() => refusedAt.length >= 2)
    world.service.log.unshift(aDelivery('2'))
    world.service.behavior.override = () => undefined
    await waitFor(() => lines().length === 2)
    running.child.kill('SIGINT')
    const ended = await running.ended
    expect([ended.code, ended.stderr.match(/Too many requests. Trying again/g)]).toEqual([
      0,
      ['Too many requests. Trying again'],
    ])
    // Only a lower bound, because a busy machine makes the wait longer.
    expect((refusedAt[1] ?? 0) - (refusedAt[0] ?? 0)).toBeGreaterThan(3900)
  })

  it('waits for the end of an outage, and says it once', async () => {
    world.service.log.push(aDelivery('1'))
    const { running, lines } = watching()
    await waitFor(() => lines().length === 1, { describe: running.stderr() })
    let refused = 0
    world.service.behavior.override = () => {
      refused += 1
      return { status: 503, body: { error: { code: 'unavailable', message: 'Later' } } }
    }
    await waitFor(() => refused >= 2)
    world.service.log.unshift(aDelivery('2'))
    world.service.behavior.override = () => undefined
    await waitFor(() => lines().length === 2)
    running.child.kill('SIGINT')
    const ended = await running.ended
    expect(ended.stderr.match(/Trying again/g)).toHaveLength(1)
    expect(ended.stdout).toMatch(
      /^2026-01-01 00:00:00Z {2}1 {2}summary\.completed {2}evt_1 {2}pending {2}0 attempts$/m,
    )
  })

  it('ends with the first change that nobody reads anymore', async () => {
    world.service.log.push(aDelivery('1'))
    const { running, lines } = watching()
    await waitFor(() => lines().length === 1, { describe: running.stderr() })
    running.child.stdout?.destroy()
    world.service.log.unshift(aDelivery('2'))
    expect(await running.ended).toMatchObject({ code: 0 })
  })

  it('ends at once when the first poll fails', async () => {
    const ended = await world.machine.run(['deliveries', 'list', '7', '--watch'], world.signedIn())
    expect(ended.code).toBe(1)
  })

  it('shows no page', async () => {
    const args = ['deliveries', 'list', '7', '--watch', '--page', '2']
    expect((await world.machine.run(args, world.signedIn())).code).toBe(2)
  })
})
