import { bold, cyan, green, red, say, secondsSince } from '../terminal.js'
import { connectApplication } from './connect.js'
import { createWebhook, ping, retry, summaries, type Walk } from './deliveries.js'
import type { World } from './http.js'
import { signOutEverywhere, signUp } from './sign-up.js'

export type { World } from './http.js'

export type WalkthroughResult = Pick<Walk, 'person' | 'accessToken'>

/** Runs the main use case from end to end against running services, and prints each step. Returns undefined if a step failed. */
export async function walkThrough(world: World): Promise<WalkthroughResult | undefined> {
  const startedAt = performance.now()
  const suffix = Date.now().toString(36)
  const name = `ana-${suffix}`
  try {
    const person = await step('a', 'A person signs up', () => signUp(world, name))
    const accessToken = await step('b', 'She connects an application', () =>
      connectApplication(world, person),
    )
    const register = () => createWebhook(world, accessToken, name)
    const webhook = await step('c', 'The application registers a webhook', register)
    const walk = { world, person, accessToken, webhook }
    await step('d', 'A test event arrives', () => ping(walk))
    await step('e', 'Recordings are summed up', () => summaries(walk))
    await step('f', 'The receiver fails once, and the event is sent again', () => retry(walk))
    await step('g', 'Somebody signs out everywhere', () => signOutEverywhere(world, `ben-${suffix}`))
    say(`\n  ${green(`All seven steps passed in ${secondsSince(startedAt)}.`)}`)
    return { person, accessToken }
  } catch (error) {
    say(`\n${red((error as Error).message)}`)
    return undefined
  }
}

async function step<T>(letter: string, title: string, work: () => Promise<T>): Promise<T> {
  say(`\n  ${cyan(letter)}  ${bold(title)}`)
  return work().catch((error: Error) => {
    throw new Error(`Step ${letter} (${title}) failed: ${error.message}`, { cause: error })
  })
}
