import { expect } from '@jest/globals'
import { holdsInSomeRun } from '@signet/testkit'
import type { TestServer } from './server.js'

/** The states of an address that strangers must not be able to tell apart. */
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
 * A state counts as slower than another if it takes clearly longer in at least this many rounds. A busy machine slows down any state in any
 * round; a state whose answer waits for something is slow in nearly all of them.
 */
const MOST = 9
/** Next to other tests, some runs fail by chance. A broken rule fails every run. */
const RUNS = 6
/** Timeout of tests whose measurements may have to be repeated on a busy machine. */
export const MEASURING_MS = 240_000

type Pair = (typeof PAIRS)[number]
const roundsSlower = ({ slow, fast }: Pair, rounds: readonly Round[]): number =>
  rounds.filter((ms) => ms[slow] > SLOWER * ms[fast]).length

/** The pairs of states whose first one took clearly longer in most rounds. */
const toldApart = (rounds: readonly Round[]): string[] =>
  PAIRS.filter((pair) => roundsSlower(pair, rounds) >= MOST).map(
    ({ slow, fast }) => `${slow} is slower than ${fast}`,
  )

/** Whether the remaining rounds can no longer change which pairs are told apart. */
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
  /** Returns one address in this state for each round; no request has named any of them yet. */
  addresses: (state: State) => Promise<string[]>
  ask: (address: string) => Promise<{ status: number }>
  status: number
  /** Wait for the work that follows each answer, which would otherwise slow down the next request. */
  settle: boolean
}

/**
 * Asks about every state in each round. The order changes from round to round, because the work that one request leaves slows down the
 * next.
 */
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
 * Expects answer times of the states to differ only by chance. To prove that the statistics can find a difference at all, they must also
 * find one that is planted in the same noisy times.
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

/** Expects answer times to reveal which addresses have an account. */
export const expectOtherTimes = (measurement: Measurement): Promise<void> =>
  holdsInSomeRun(async () => {
    const found = toldApart(await measure(measurement))
    expect(found).toEqual(expect.arrayContaining(['proved is slower than unknown']))
  }, RUNS)
