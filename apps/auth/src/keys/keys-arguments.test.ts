import { describe, expect, it } from '@jest/globals'
import { KeysUsageError, parseKeysArguments } from './keys-arguments.js'

const KID = '-AbcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO0'

describe('the words after `keys`', () => {
  it.each([
    [[], { name: 'help' }],
    [['help'], { name: 'help' }],
    [['rotate', '-h'], { name: 'help' }],
    [['list'], { name: 'list' }],
    [['rotate'], { name: 'rotate', alg: undefined, now: false }],
    [['rotate', '--alg', 'eddsa', '--now'], { name: 'rotate', alg: 'EdDSA', now: true }],
    [['retire', 'kid-1'], { name: 'retire', kid: 'kid-1', force: false }],
    [['retire', '--force', KID], { name: 'retire', kid: KID, force: true }],
  ])('%j is a command', (argv, command) => {
    expect(parseKeysArguments(argv)).toEqual({ command, json: false })
    expect(parseKeysArguments([...argv, '--json'])).toEqual({ command, json: true })
  })

  it.each([
    [['shred'], 'Unknown command: shred'],
    [['constructor'], 'Unknown command: constructor'],
    [['list', '--force'], 'list does not take --force'],
    [['retire', 'a', '--now'], 'retire does not take --now'],
    [['list', 'a'], 'Too many arguments: a'],
    [['retire', 'a', 'b'], 'Too many arguments: b'],
    [['retire'], 'Which key?'],
    [['rotate', '--alg', 'HS256'], '--alg takes RS256, ES256 or EdDSA'],
    [['rotate', '--quickly'], 'quickly'],
  ])('%j is refused', (argv, problem) => {
    expect(() => parseKeysArguments(argv)).toThrow(KeysUsageError)
    expect(() => parseKeysArguments(argv)).toThrow(problem)
  })
})
