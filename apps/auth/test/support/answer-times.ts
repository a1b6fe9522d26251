import { expect } from '@jest/globals'
import { holdsInSomeRun } from '@signet/testkit'
import type { TestServer } from './server.js'

/** What a stranger would like to know about an address. */
export const STATES = ['unknown', 'unproven', 'proved'] as const
export type State = (typeof STATES)[number]
const ORDERS = STATES.flatMap((first) => {
  const [second, third] = STATES.filter((state) => state !== first)
  return second && third ? [[first, second, third] as const, [first, third, second] as const] : []
})
/** How long the answer for each state of an address took in a round, in milliseconds. */
type Round = Record<State, number>
const PAIRS = STATES.flatMap((slow) => STATES.filter((fast) => fast !== slow).map((fast) => ({ slow, fast })))
const SLOWER = 1.25
export const ROUNDS = 12
/**
 * The rounds in which one state must take clearly longer than another to count as slower. A busy machine makes any of them slow in
 * any round; if the answer waits for something, the same one is slow in nearly all.
 */
const MOST = 9
/** Next to other tests, some runs fail by chance. A broken rule fails every run. */
const RUNS = 6
/** For measurements that are repeated on a busy machine. */
export const PATIENCE_MS = 240_000

type Pair = (typeof PAIRS)[number]
const roundsSlower = ({ slow, fast }: Pair, rounds: readonly Round[]): number =>
  rounds.filter((ms) => ms[slow] > SLOWER * ms[fast]).length

/** The pairs of states of which the first took clearly longer in most rounds. */
const toldApart = (rounds: readonly Round[]): string[] =>
  PAIRS.filter((pair) => roundsSlower(pair, rounds) >= MOST).map(
    ({ slow, fast }) => `${slow} is slower than ${fast}`,
  )

/** Whether the rounds that are left cannot change any more which pairs are told apart. */
const isDecided = (rounds: readonly Round[]): boolean =>
  PAIRS.every((pair) => {
    const slower = roundsSlower(pair, rounds)
    return slower >= MOST || slower + ROUNDS - rounds.length < MOST
  })

const PLANTED = 3
const withPlanted = (rounds: readonly Round[]): Round[] =>
  rounds.map((ms) => ({ ...ms, proved: PLANTED * ms.proved }))

export type Measurement = {
  server: TestServer
  /** As many addresses of a state as there are rounds, which nobody has asked about. */
  addresses: (state: State) => Promise<string[]>
  ask: (address: string) => Promise<{ status: number }>
  status: number
  /** Let what happens after an answer end before the next request, which it would slow down. */
  settle: boolean
}

/** Asks about each state in every round, in all orders by turns: each is slowed by what the one before it left to do. */
async function measure({ server, addresses, ask, status: expected, settle }: Measurement): Promise<Round[]> {
  const [unknown = [], unproven = [], proved = []] = await Promise.all(STATES.map(addresses))
  const all: Record<State, string[]> = { unknown, unproven, proved }
  const rounds: Round[] = []
  while (!isDecided(rounds) || !isDecided(withPlanted(rounds))) {
    const round: Round = { unknown: 0, unproven: 0, proved: 0 }
    for (const state of ORDERS[rounds.length % ORDERS.length] ?? STATES) {
      const startedAt = performance.now()
      const { status } = await ask(all[state][rounds.length] ?? '')
      round[state] = performance.now() - startedAt
      expect(status).toBe(expected)
      if (settle) await server.settled()
    }
    rounds.push(round)
  }
  return rounds
}

/**
 * Expects that nothing but chance tells the states apart by the time of their answers. The same statistics have to find a difference
 * that is planted in the same times, with their noise: otherwise they would find nothing in any server.
 */
export async function expectSameTimes(measurement: Measurement): Promise<void> {
  const held = { areSame: false, isPlantedFound: false }
  await holdsInSomeRun(async () => {
    const rounds = await measure(measurement)
    held.isPlantedFound ||= toldApart(withPlanted(rounds)).includes('proved is slower than unknown')
    const found = toldApart(rounds)
    held.areSame ||= found.length === 0
    expect({ ...held, found: held.areSame ? [] : found }).toEqual({
      areSame: true,
      isPlantedFound: true,
      found: [],
    })
  }, RUNS)
}

/** Expects that the time of answers tells accounts from addresses without one. */
export const expectOtherTimes = (measurement: Measurement): Promise<void> =>
  holdsInSomeRun(async () => {
    const found = toldApart(await measure(measurement))
    expect(found).toEqual(expect.arrayContaining(['proved is slower than unknown']))
  }, RUNS)
