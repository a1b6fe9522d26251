import type { SummaryCompletedEvent } from '@signet/webhook-verify'
import { dim } from '../terminal.js'
import { check, tell } from './http.js'
import { awaitDeliveries, eventOf } from './receiver-client.js'
import { publishRecording, readRecording, type Recording } from './recording.js'
import type { Person, Subscription, World } from './world.js'

const ONE_MIB = 1_048_576
const EXCERPT_LINES = 12
const LINE_LENGTH = 96

/** e. A recording's summary becomes ready: a meeting as it is, and one that is too large. */
export async function summaries(
  world: World,
  person: Person,
  subscription: Subscription,
  after: number,
): Promise<number> {
  const meeting = readRecording(world, 'product-review')
  const first = await deliver(world, person, subscription, { recording: meeting, key: 'meeting', after })
  showMeeting(meeting, first.event)

  const large = readRecording(world, 'listening-day')
  const second = await deliver(world, person, subscription, {
    recording: large,
    key: 'large',
    after: first.number,
  })
  showSizeRule(large, second)
  return second.number
}

interface Delivered {
  number: number
  bytes: number
  event: SummaryCompletedEvent
}

async function deliver(
  world: World,
  person: Person,
  subscription: Subscription,
  { recording, key, after }: { recording: Recording; key: string; after: number },
): Promise<Delivered> {
  const eventId = await publishRecording(world, person, recording, key)
  const [delivery] = await awaitDeliveries(world, subscription, { type: 'summary.completed', after })
  check(delivery?.eventId === eventId, 'the event that arrived is the one published')
  const event = (await eventOf(world, delivery)) as SummaryCompletedEvent
  return { number: delivery.number, bytes: delivery.bytes, event }
}

function showMeeting({ recording, transcript }: Recording, { data }: SummaryCompletedEvent): void {
  const [summary] = data.summaries ?? []
  check(summary?.format === 'markdown', 'the HTML summary became Markdown')
  check(!/<(h1|p|li|table)\b/.test(summary.content), 'no HTML is left in it')
  check(data.transcript?.segments?.length === transcript.segments.length, 'every transcript segment arrived')
  const minutes = Math.round(recording.duration_ms / 60_000)
  tell(
    `"${data.title}", ${minutes} minutes, ${transcript.segments.length} segments. Its summary, now Markdown, begins:`,
  )
  tell('')
  for (const line of summary.content.split('\n').slice(0, EXCERPT_LINES)) tell(dim(`  │ ${shorten(line)}`))
  tell('')
}

function showSizeRule(sent: Recording, { bytes, event: { data } }: Delivered): void {
  const whole = Buffer.byteLength(JSON.stringify(sent))
  check(whole > ONE_MIB, 'the recording is larger than 1 MiB')
  check(data.transcript !== undefined && !('segments' in data.transcript), 'the segments were left out')
  check(data.transcript.text === sent.transcript.text, 'the text is complete')
  check(!data.transcript.truncated, 'the text is not marked as cut')
  check(bytes <= ONE_MIB, 'the payload fits in 1 MiB')
  tell(
    `"${data.title}" is ${mib(whole)} MiB as recorded. The event leaves out its ${sent.transcript.segments.length}`,
  )
  tell(`segments, keeps text and summary whole, and fits the 1 MiB target with ${mib(bytes)} MiB.`)
}

const shorten = (line: string): string =>
  line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH - 1)}…` : line

const mib = (bytes: number): string => (bytes / ONE_MIB).toFixed(2)
