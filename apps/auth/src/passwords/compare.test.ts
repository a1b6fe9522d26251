import { describe, expect, it } from '@jest/globals'
import { compare, comparisonWith } from './compare.js'

const aHash = (cost: number, of: string) => `$2b$${String(cost).padStart(2, '0')}$${of.padEnd(53, '/')}`
const MINE = aHash(10, 'mine')

/** Whether the password matches, and the costs of the hashes that it is compared with. */
async function compared(stored: string | null, right?: string) {
  const costs: number[] = []
  const bcrypt = {
    hash: () => '',
    verify(_password: string, hash: string) {
      costs.push(Number(hash.slice(4, 6)))
      return hash === right
    },
  }
  return { matches: await compare(bcrypt, comparisonWith(stored, 10), 'a password'), costs }
}

describe('a comparison', () => {
  it.each<[string, string | null, number[]]>([
    ['the service made the hash', MINE, [10]],
    ['there is no hash', null, [10]],
    ['the hash is cheaper', aHash(8, 'old'), [8, 10]],
    ['the hash costs more', aHash(12, 'imported'), [12]],
    ['what is stored is no hash', 'secret', [10]],
  ])('with a wrong password costs a hash of the service, and not less where %s', async (_, stored, costs) => {
    expect(await compared(stored)).toEqual({ matches: false, costs })
  })

  it('with the right password costs its hash', async () => {
    expect(await compared(MINE, MINE)).toEqual({ matches: true, costs: [10] })
    expect(await compared(aHash(8, 'old'), aHash(8, 'old'))).toEqual({ matches: true, costs: [8] })
  })

  it('never matches what is compared for its work alone', async () => {
    const decoy = comparisonWith(null, 10).decoy
    expect(await compared(null, decoy)).toEqual({ matches: false, costs: [10] })
  })
})
