import { bold, cyan, green, red, say, secondsSince } from '../terminal.js'
import { connectApplication } from './connect.js'
import { ping, retry, subscribe, summaries } from './deliveries.js'
import { signOutEverywhere, signUp } from './sign-up.js'
import type { Walk, World } from './world.js'

export type { World } from './world.js'

export type WalkthroughResult = Pick<Walk, 'person' | 'accessToken'>

/** The main job from end to end, against running services, printed as it goes. Undefined when a step failed. */
export const walkThrough = (world: World): Promise<WalkthroughResult | undefined> =>
  allSteps(world).catch((error: Error) => {
    say(`\n${red(error.message)}`)
    return undefined
  })

async function allSteps(world: World): Promise<WalkthroughResult> {
  const startedAt = performance.now()
  const suffix = Date.now().toString(36)
  const name = `ana-${suffix}`
  const person = await step('a', 'A person signs up', () => signUp(world, name))
  const accessToken = await step('b', 'She connects an application', () => connectApplication(world, person))
  const subscription = await step('c', 'The application registers a webhook', () =>
    subscribe(world, accessToken, name),
  )
  const walk = { world, person, accessToken, subscription }
  const pinged = await step('d', 'A test event arrives', () => ping(walk))
  const summed = await step('e', 'Recordings are summed up', () => summaries(walk, pinged))
  await step('f', 'The receiver stumbles, and the event comes again', () => retry(walk, summed))
  await step('g', 'Somebody signs out everywhere', () => signOutEverywhere(world, `ben-${suffix}`))
  say(`\n  ${green(`All seven steps passed in ${secondsSince(startedAt)}.`)}`)
  return { person, accessToken }
}

async function step<T>(letter: string, title: string, work: () => Promise<T>): Promise<T> {
  say(`\n  ${cyan(letter)}  ${bold(title)}`)
  try {
    return await work()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`Step ${letter} (${title}) failed: ${reason}`, { cause: error })
  }
}
