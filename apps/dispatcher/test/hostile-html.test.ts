import { afterAll, afterEach, beforeEach, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import type { TestSummary } from '@signet/webhook-testkit'
import { MarkdownConverter } from '../src/markdown/markdown-converter.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { gate, type Gate } from './support/gate.js'

const NESTED = '<div>'.repeat(1300)
/** Nearly as many nodes as a page may have: a few such pages bring an event to the limit of its CPU time. */
const LARGE_PAGE = '<p>a'.repeat(190_000)

type Case = { name: string; html: string; documents: number; events: number; sent: RegExp }
const CASES: readonly Case[] = [
  // 1 MB in all. The converter refuses each document, which passes through unchanged.
  { name: '150 summaries of nested divs', html: NESTED, documents: 150, events: 1, sent: /^(?:<div>)+$/ },
  // On a slow enough machine, these pass through unchanged as well.
  { name: 'the largest pages', html: LARGE_PAGE, documents: 1, events: 3, sent: /^(?:a|<p>a)/ },
]

const markdown = new MarkdownConverter()
afterAll(() => markdown.close())

let receiver: Receiver
let dispatcher: TestDispatcher
let hostile: Gate
let converted: string[]

beforeEach(async () => {
  receiver = await startReceiver()
  hostile = gate()
  converted = []
})
afterEach(async () => {
  hostile.open()
  await dispatcher.stop()
  await receiver.close()
})

const arrived = (path: string) => receiver.deliveries({ path })

const htmlSummaries = (content: string, count: number): Pick<TestSummary, 'summaries'> => ({
  summaries: Array.from({ length: count }, () => ({ label: 'Summary', content, format: 'html' })),
})

/** Converts for real, in threads. The last hostile document does not end before the test opens the gate, however fast the machine is. */
async function startWith({ html, documents, events }: Case): Promise<void> {
  const convert = async (content: string, cpuLimitMs?: number) => {
    const result = await markdown.convert(content, cpuLimitMs)
    converted.push(content)
    const isLast = converted.filter((each) => each === html).length === documents * events
    if (content === html && isLast) await hostile.opened
    return result
  }
  dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert, convert } })
}

it.each(CASES)("of one account holds up no other account's events and pings: $name", async (given) => {
  await startWith(given)
  const heavy = dispatcher.subscriber()
  await heavy.endpoint(receiver.url('/heavy'))
  const other = dispatcher.subscriber()
  const endpoint = await other.endpoint(receiver.url('/other'))
  await heavy.summaries(given.events, () => htmlSummaries(given.html, given.documents))
  await waitFor(() => converted.length > 0, { describe: 'the first hostile document' })
  await other.summary()
  await other.summary(htmlSummaries('<h1>Hi</h1>', 1))
  await other.ping(endpoint.id)
  await waitFor(() => arrived('/other').length === 3, { describe: 'what the other account sends' })
  expect(arrived('/heavy').length).toBeLessThan(given.events)
  hostile.open()
  await waitFor(() => arrived('/heavy').length === given.events, { describe: 'the hostile events' })
  for (const { body } of arrived('/heavy')) {
    const { data } = JSON.parse(body.toString()) as { data: { summaries: { content: string }[] } }
    expect(data.summaries).toHaveLength(given.documents)
    for (const { content } of data.summaries) expect(content).toMatch(given.sent)
  }
})
