import { describe, expect, it } from '@jest/globals'
import { parsePortRanges } from './port-ranges.js'

describe('parsePortRanges', () => {
  it('reads single ports and ranges', () => {
    expect(parsePortRanges('443, 1024-65535')).toEqual([
      { from: 443, to: 443 },
      { from: 1024, to: 65535 },
    ])
  })

  it.each(['', '0', '443,', '65536', '20-10', '1-70000', 'https', '443;8443', '-1'])('refuses %j', (list) => {
    expect(() => parsePortRanges(list)).toThrow(RangeError)
  })
})
