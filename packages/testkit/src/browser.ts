import { describe } from '@jest/globals'
import { chromiumPath, type sidewaysScroll } from './chromium.js'
import { waitFor } from './wait-for.js'

type Page = Parameters<typeof sidewaysScroll>[0]

/** For tests of pages in Chromium. Where it is missing, a message says so once, and the tests are skipped. */
export const describeInBrowser: typeof describe.skip = chromiumPath() === null ? describe.skip : describe

const NOWHERE = { x: 0, y: 0, width: 0, height: 0 }

/**
 * Double-clicks a button, and clicks it again after the service has processed the form but before its answer arrives.
 * Returns the paths of the forms that were sent.
 */
export async function clickRepeatedly(page: Page, button: string): Promise<string[]> {
  const sent: string[] = []
  let answered = false
  let goOn: () => void = () => undefined
  const clicked = new Promise<void>((resolve) => (goOn = resolve))
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
  })
  await page.route('**', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    const response = await route.fetch({ maxRedirects: 0 })
    answered = true
    await clicked
    await route.fulfill({ response })
  })
  // Uses the mouse, because it does not wait for what its clicks start.
  const { x, y, width, height } = (await page.locator(button).boundingBox()) ?? NOWHERE
  const middle = [x + width / 2, y + height / 2] as const
  await page.mouse.dblclick(...middle)
  await waitFor(() => answered, { describe: 'an answer of the service' })
  await page.mouse.click(...middle)
  goOn()
  await page.unrouteAll({ behavior: 'wait' })
  return sent
}
