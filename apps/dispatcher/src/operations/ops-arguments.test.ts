import { describe, expect, it } from '@jest/globals'
import { parseOps } from './ops-arguments.js'
import { OpsError } from './ops-error.js'

const NOW = new Date('2030-01-02T10:00:00.000Z')
const parse = (line: string, env: Record<string, string> = { USER: 'ada' }) =>
  parseOps(line.split(' '), env, NOW)
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
          target: { endpointId: '7', failedSince: new Date('2030-01-02T08:30:00.000Z') },
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
          target: { endpointId: '7', failedSince: new Date('2030-01-02T08:00:00.000Z') },
          dryRun: true,
        },
        json: false,
      },
    ],
    ['disabled', { command: { name: 'disabled', since: new Date('2030-01-01T10:00:00.000Z') }, json: false }],
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
    ['pause', 'Say why'],
    ['pause --why drill now', 'Too much: now'],
    ['status --why drill', 'status does not take --why'],
    ['pause --why drill --endpoint 7', 'pause does not take --endpoint'],
    ['drain --why drill --timeout soon', '--timeout takes'],
    ['requeue --why drill', 'Which delivery?'],
    ['requeue 42 --since 1h --why drill', '--since belongs to --endpoint'],
    ['requeue 42 --endpoint 7 --since 1h --why drill', 'Too much: 42'],
    ['requeue --endpoint seven --since 1h --why drill', '--endpoint takes'],
    ['requeue --endpoint 7 --why drill', 'Since when?'],
    ['requeue --endpoint 7 --since yesterday --why drill', '--since takes'],
    ['requeue --endpoint 7 --since 2030-01-02T09:00:00 --why drill', '--since takes'],
    ['requeue --endpoint 7 --since 2030-02-31T09:00:00Z --why drill', '--since'],
    ['requeue --endpoint 7 --since 2031-01-01T00:00:00Z --why drill', 'lies in the future'],
    ['inspect', 'Which delivery?'],
    ['enable --why drill', '--endpoint takes'],
    ['disabled now', 'Too much: now'],
    ['inspect evt_1', 'Which delivery?'],
    ['status --force', '--force'],
  ])('refuses "%s"', (line, message) => {
    expect(() => parse(line)).toThrow(OpsError)
    expect(() => parse(line)).toThrow(message)
  })

  it('wants a name where the environment has none', () => {
    expect(() => parse('pause --why drill', {})).toThrow('Say who you are')
    expect(parse('pause --why drill', { LOGNAME: 'root' }).command).toEqual({
      name: 'pause',
      author: { operator: 'root', reason: 'drill' },
    })
  })
})
