import { describe, expect, it } from '@jest/globals'
import { parseOps, timeOf } from './ops-arguments.js'
import { OpsError } from './ops-error.js'

const parse = (line: string, env: Record<string, string> = { USER: 'ada' }) => parseOps(line.split(' '), env)
const author = { operator: 'ada', reason: 'drill' }

describe('the arguments of ops', () => {
  it.each([
    ['status --json', { command: { name: 'status' }, json: true }],
    ['pause --why drill', { command: { name: 'pause', author }, json: false }],
    [
      'resume --why drill --by grace',
      { command: { name: 'resume', author: { ...author, operator: 'grace' } }, json: false },
    ],
    ['drain --why drill', { command: { name: 'drain', author, timeoutMs: 30_000 }, json: false }],
    ['drain --why drill --timeout 5', { command: { name: 'drain', author, timeoutMs: 5000 }, json: false }],
    ['inspect 42', { command: { name: 'inspect', deliveryId: '42' }, json: false }],
    [
      'requeue 42 --why drill',
      { command: { name: 'requeue', author, target: { deliveryId: '42' }, dryRun: false }, json: false },
    ],
    [
      'requeue --endpoint 7 --since 90m --why drill',
      {
        command: {
          name: 'requeue',
          author,
          target: { endpointId: '7', since: { agoMs: 90 * 60_000 } },
          dryRun: false,
        },
        json: false,
      },
    ],
    [
      'requeue --endpoint 7 --since 2030-01-02T09:00:00+01:00 --dry-run',
      {
        command: {
          name: 'requeue',
          author: { ...author, reason: '' },
          target: { endpointId: '7', since: { at: new Date('2030-01-02T08:00:00.000Z') } },
          dryRun: true,
        },
        json: false,
      },
    ],
    ['disabled', { command: { name: 'disabled', since: { agoMs: 24 * 3_600_000 } }, json: false }],
    [
      'enable --endpoint 7 --why drill',
      { command: { name: 'enable', author, endpointId: '7' }, json: false },
    ],
    ['--help', { command: { name: 'help' }, json: false }],
  ])('reads %s', (line, expected) => {
    expect(parse(line)).toEqual(expected)
  })

  it.each([
    ['', 'Unknown command: '],
    ['stop', 'Unknown command: stop'],
    ['constructor', 'Unknown command: constructor'],
    ['pause', '--why TEXT is required'],
    ['pause --why drill now', 'Unexpected argument: now'],
    ['status --why drill', 'status does not take --why'],
    ['pause --why drill --endpoint 7', 'pause does not take --endpoint'],
    ['drain --why drill --timeout soon', '--timeout takes'],
    ['requeue --why drill', 'A delivery id is required'],
    ['requeue 42 --since 1h --why drill', '--since requires --endpoint'],
    ['requeue 42 --endpoint 7 --since 1h --why drill', 'Unexpected argument: 42'],
    ['requeue --endpoint seven --since 1h --why drill', '--endpoint takes'],
    ['requeue --endpoint 7 --why drill', '--endpoint requires --since'],
    ['requeue --endpoint 7 --since yesterday --why drill', '--since takes'],
    ['disabled --since 99999d', '--since goes back 9999 minutes, hours or days at most, not 99999d'],
    ['requeue --endpoint 7 --since 2030-01-02T09:00:00 --why drill', '--since takes'],
    ['requeue --endpoint 7 --since 2029-02-30T09:00:00Z --why drill', '--since takes'],
    ['requeue --endpoint 7 --since 2029-02-01T24:00:00Z --why drill', '--since takes'],
    ['inspect', 'A delivery id is required'],
    ['enable --why drill', '--endpoint takes'],
    ['disabled now', 'Unexpected argument: now'],
    ['inspect evt_1', 'A delivery id is required'],
    ['status --force', '--force'],
  ])('refuses "%s"', (line, message) => {
    expect(() => parse(line)).toThrow(OpsError)
    expect(() => parse(line)).toThrow(message)
  })

  it('counts back from the time that it is given, and refuses a time in the future', () => {
    const now = new Date('2030-01-02T10:00:00.000Z')
    const earlier = new Date('2030-01-02T08:30:00.000Z')
    expect(timeOf({ agoMs: 90 * 60_000 }, now)).toEqual(earlier)
    expect([timeOf({ at: earlier }, now), timeOf({ at: now }, now)]).toEqual([earlier, now])
    const later = () => timeOf({ at: now }, earlier)
    expect(later).toThrow(OpsError)
    expect(later).toThrow('--since must not be in the future')
  })

  it('wants a name where the environment has none', () => {
    expect(() => parse('pause --why drill', {})).toThrow('--by NAME is required')
    expect(parse('pause --why drill', { LOGNAME: 'root' }).command).toEqual({
      name: 'pause',
      author: { operator: 'root', reason: 'drill' },
    })
  })
})
