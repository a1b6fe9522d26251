import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import type { Recovery } from '../src/api/types.js'
import { json } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()
const signet = (...args: string[]) => world.machine.run(args, world.signedIn())
const aHook = () => world.service.addHook('https://example.com/hook', [])
const lastCall = () => {
  const { method, path, body } = world.service.seen.at(-1) ?? {}
  return [method, path, body === '' ? undefined : (JSON.parse(body ?? 'null') as unknown)]
}

/** Makes the service give these answers in turn, and then repeat the last one. */
function answering(...recoveries: Partial<Recovery>[]) {
  const whole = { id: '7', endpoint_id: '42', what: 'failed', state: 'running', matched: 3, queued: 1 }
  const times = { since: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z', created_at: '' }
  world.service.behavior.override = () => {
    const next = recoveries.length > 1 ? recoveries.shift() : recoveries[0]
    return { body: { item: { ...whole, ...times, delivered: 0, failed: 0, ...next } } }
  }
}

describe('deliveries replay', () => {
  it('shows the new delivery', async () => {
    const { id } = aHook()
    const ended = await signet('deliveries', 'replay', id, '981')
    expect(ended.stdout).toMatch(/ID +982\n/)
    expect(lastCall()).toEqual(['POST', `/v1/webhooks/${id}/deliveries/981/replay`, undefined])
    expect((await signet('deliveries', 'replay', id, '1')).code).toBe(1)
  })
})

describe('recover', () => {
  it('starts one for a time, and says how to follow it', async () => {
    answering({})
    const ended = await signet('recover', 'start', '42', '--since', '2026-01-01T00:00Z', '--what', 'all')
    expect(lastCall()).toEqual([
      'POST',
      '/v1/webhooks/42/recover',
      { since: '2026-01-01T00:00:00.000Z', what: 'all' },
    ])
    expect(ended.stdout).toMatch(/Progress +running: 1 of 3 queued, 0 delivered, 0 failed/)
    expect(ended.stderr).toContain('signet recover show 42 7 --watch')
  })

  it('lists them, every page', async () => {
    const recovery = (id: string) => ({
      id,
      endpoint_id: '42',
      what: 'all',
      state: 'done',
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
      matched: 3,
      queued: 2,
      created_at: '2026-01-03T00:00:00.000Z',
    })
    world.service.behavior.override = ({ url }) =>
      url.searchParams.get('cursor') === '8'
        ? { body: { items: [recovery('7')], next_cursor: '' } }
        : { body: { items: [recovery('8')], next_cursor: '8' } }
    const { stdout } = await signet('recover', 'list', '42')
    expect(stdout).toMatch(/^ID +STARTED +STATE +EVENTS +FROM +TO +QUEUED\n8 .+ done +all .+ 2 of 3\n7 /)
    expect(json(await signet('recover', 'list', '42', '--json'))).toEqual([recovery('8'), recovery('7')])
    world.service.behavior.override = () => ({ body: { items: [], next_cursor: '' } })
    expect((await signet('recover', 'list', '42')).stderr).toContain('signet recover start 42 --since 7d')
  })

  it('shows one, and cancels it', async () => {
    answering({ state: 'cancelled' })
    expect(json(await signet('recover', 'show', '42', '7', '--json'))).toMatchObject({ id: '7', matched: 3 })
    expect(lastCall()).toEqual(['GET', '/v1/webhooks/42/recover/7', undefined])
    expect((await signet('recover', 'cancel', '42', '7')).stdout).toContain('cancelled')
    expect(lastCall()).toEqual(['DELETE', '/v1/webhooks/42/recover/7', undefined])
  })

  it('follows one until its deliveries have ended', async () => {
    answering(
      {},
      {},
      { queued: 3, state: 'done', delivered: 2 },
      { queued: 3, state: 'done', delivered: 2, failed: 1 },
    )
    const running = world.machine.start(['recover', 'show', '42', '7', '--watch'], world.signedIn())
    await waitFor(() => running.stdout().includes('running'), { describe: running.stderr() })
    const ended = await running.ended
    expect(ended.code).toBe(0)
    expect(ended.stdout.split('\n')).toEqual([
      'running: 1 of 3 queued, 0 delivered, 0 failed',
      'done: 3 of 3 queued, 2 delivered, 0 failed',
      'done: 3 of 3 queued, 2 delivered, 1 failed',
      '',
    ])
  })

  it.each([
    ['no time', ['start', '42']],
    ['a time that is none', ['start', '42', '--since', 'yesterday']],
    ['an unknown choice', ['start', '42', '--since', '7d', '--what', 'some']],
    ['an id that is none', ['show', '42', '../7']],
  ])('asks nothing with %s', async (_what, args) => {
    expect((await signet('recover', ...args)).code).toBe(2)
    expect(world.service.seen).toEqual([])
  })
})
