import { describe, expect, it } from '@jest/globals'
import { hasMoreValuesThan } from './json-values.js'

const count = (text: string) => {
  const bytes = Buffer.from(text)
  let limit = 0
  while (hasMoreValuesThan(limit, bytes)) limit += 1
  return limit
}

describe('hasMoreValuesThan', () => {
  it.each([
    ['1', 0],
    ['[]', 1],
    ['[1,2,3]', 3],
    ['{"a":1,"b":{"c":[1]}}', 4],
    ['["a,b,[{","c"]', 2],
    ['["a\\",b","\\\\",1]', 3],
    ['["é,😀,",1]', 2],
  ])('counts %s as %i', (text, expected) => {
    expect(count(text)).toBe(expected)
  })

  it('does not hang on a string without end', () => {
    expect(hasMoreValuesThan(1, Buffer.from('["abc,,,'))).toBe(false)
    expect(hasMoreValuesThan(1, Buffer.from('["abc\\'))).toBe(false)
  })

  it('takes time in proportion to the text even when every quote is escaped', () => {
    const escaped = Buffer.from(`["${'\\"'.repeat(500_000)}"]`)
    const before = process.cpuUsage()
    expect(hasMoreValuesThan(1, escaped)).toBe(false)
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(5000)
  })
})
