import { describe, expect, it } from '@jest/globals'
import { matchesGlob, parseGlob } from './glob.js'

describe('globs of the redirect allow-list (contract 14.2)', () => {
  it.each([
    ['*', 'abc', true],
    ['*', '', true],
    ['*', 'a.b', false],
    ['*', 'a/b', false],
    ['**', 'a.b/c', true],
    ['a*c', 'abbc', true],
    ['a*c', 'ac', true],
    ['a*c', 'abcd', false],
    ['?', 'a', true],
    ['?', '', false],
    ['?', '.', false],
    ['?', '/', false],
    ['?', '🔑', true],
    ['[a-c]x', 'bx', true],
    ['[a-c]x', 'dx', false],
    ['[abz]', 'z', true],
    ['[!a]', 'b', true],
    ['[!a]', 'a', false],
    ['[!a]', '.', false],
    ['[!a]', '/', false],
    ['[!a-c]', 'b', false],
    ['[\\]]', ']', true],
    ['{foo,b*}', 'foo', true],
    ['{foo,b*}', 'bar', true],
    ['{foo,b*}', 'f', false],
    ['x{,y}', 'x', true],
    ['{a,{b,c}d}e', 'cde', true],
    ['a,b', 'a,b', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['\\\\', '\\', true],
    ['a.c', 'abc', false],
    ['(a|b)+', '(a|b)+', true],
    ['a', 'A', false],
    ['', '', true],
    ['', 'a', false],
  ])('%j against %j: %s', (pattern, text, matches) => {
    expect(matchesGlob(parseGlob(pattern), text)).toBe(matches)
  })

  it.each(['[a', '[', '[]', '{a', '{a,[b}', 'a}', 'a\\', '[z-a]', '[a-'])(
    'refuses the pattern %j',
    (pattern) => {
      expect(() => parseGlob(pattern)).toThrow(/^must/)
    },
  )

  it('decides in time however many stars there are and whatever is sent', () => {
    const glob = parseGlob(`${'*a'.repeat(40)}{${'**b,'.repeat(10)}c}`)
    const startedAt = performance.now()
    expect(matchesGlob(glob, 'a'.repeat(4000))).toBe(false)
    expect(performance.now() - startedAt).toBeLessThan(2000)
  })
})
