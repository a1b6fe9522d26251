import type { SummaryCompletedEvent } from '@signet/webhook-verify'
import { reply } from '../receiver/index.js'
import { dim } from '../terminal.js'
import { waitUntil } from '../wait-until.js'
import { call, check, tell } from './http.js'
import { awaitDeliveries, eventOf, setHook } from './receiver-client.js'
import { publishRecording, readRecording, type Recording, type RecordingName } from './recording.js'
import type { Connection, Subscription, Walk, World } from './world.js'

const ONE_MIB = 1_048_576
const EXCERPT_LINES = 12
const LINE_LENGTH = 96

/** Create a webhook for the local HTTPS receiver. */
export async function subscribe(
  world: World,
  { accessToken: bearer }: Connection,
  name: string,
): Promise<Subscription> {
  const path = `/hooks/${name}`
  const url = await setHook(world, path, {})
  const json = { url, events: ['summary.completed'] }
  const { endpoint_id: endpointId, secret } = await call<{ endpoint_id: string; secret: string }>(
    world,
    'POST',
    `${world.webhooksUrl}/v1/webhooks`,
    { bearer, json },
  )
  await setHook(world, path, { secret })
  tell(`Webhook ${endpointId} sends summary.completed to ${url}.`)
  tell('Its signing secret was shown once; the receiver keeps it and refuses everything it does not sign.')
  return { endpointId, secret, url, path }
}

/** Asks for a test event. Returns its id. */
export async function sendTestEvent({
  world,
  connection,
  subscription,
}: Omit<Walk, 'person'>): Promise<string> {
  const url = `${world.webhooksUrl}/v1/webhooks/${subscription.endpointId}/test`
  const request = { bearer: connection.accessToken }
  const answer = await call<{ event_id: string; queued: boolean }>(world, 'POST', url, request)
  check(answer.queued, 'the test event is queued')
  return answer.event_id
}

/** A test event arrives, signed. Returns the number of the receiver's last delivery, as the other steps do. */
export async function ping(walk: Walk): Promise<number> {
  const eventId = await sendTestEvent(walk)
  const [delivery] = await awaitDeliveries(walk, { type: 'webhook.ping', after: 0 })
  check(delivery?.eventId === eventId, 'the event that arrived is the one published')
  tell(
    `webhook.ping ${eventId} arrived over TLS; its signature matches the ${delivery.bytes} bytes received.`,
  )
  return delivery.number
}

/** A recording's summary becomes ready: a meeting as it is, and one that is too large. */
export async function summaries(walk: Walk, after: number): Promise<number> {
  const { world, person } = walk
  let last = after
  const deliver = async (name: RecordingName, show: (sent: Recording, received: Received) => void) => {
    const recording = readRecording(world, name)
    const eventId = await publishRecording(world, person, recording, name)
    const [delivery] = await awaitDeliveries(walk, { type: 'summary.completed', after: last })
    check(delivery?.eventId === eventId, 'the event that arrived is the one published')
    const { data } = (await eventOf(world, delivery)) as SummaryCompletedEvent
    show(recording, { data, bytes: delivery.bytes })
    last = delivery.number
  }
  await deliver('product-review', showMeeting)
  await deliver('listening-day', showSizeRule)
  return last
}

type Received = Pick<SummaryCompletedEvent, 'data'> & { bytes: number }

function showMeeting({ recording, transcript: { segments } }: Recording, { data }: Received): void {
  const [summary] = data.summaries ?? []
  check(summary?.format === 'markdown', 'the HTML summary became Markdown')
  check(!/<(h1|p|li|table)\b/.test(summary.content), 'no HTML is left in it')
  check(data.transcript?.segments?.length === segments.length, 'every transcript segment arrived')
  const minutes = Math.round(recording.duration_ms / 60_000)
  tell(`"${data.title}", ${minutes} minutes, ${segments.length} segments. Its summary, now Markdown, begins:`)
  tell('')
  for (const line of summary.content.split('\n').slice(0, EXCERPT_LINES)) tell(dim(`  │ ${shorten(line)}`))
  tell('')
}

function showSizeRule(sent: Recording, { data, bytes }: Received): void {
  const whole = Buffer.byteLength(JSON.stringify(sent))
  check(whole > ONE_MIB, 'the recording is larger than 1 MiB')
  check(data.transcript !== undefined && !('segments' in data.transcript), 'the segments were left out')
  check(data.transcript.text === sent.transcript.text, 'the text is complete')
  check(!data.transcript.truncated, 'the text is not marked as cut')
  check(bytes <= ONE_MIB, 'the payload fits in 1 MiB')
  const { length } = sent.transcript.segments
  tell(`"${data.title}" is ${mib(whole)} MiB as recorded. The event leaves out its ${length}`)
  tell(`segments, keeps text and summary whole, and fits the 1 MiB target with ${mib(bytes)} MiB.`)
}

const shorten = (line: string): string =>
  line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH - 1)}…` : line

const mib = (bytes: number): string => (bytes / ONE_MIB).toFixed(2)

/** The receiver fails once; the retry succeeds; the delivery log tells the story. */
export async function retry(walk: Walk, after: number): Promise<void> {
  const { world, person, connection } = walk
  const { path, secret, endpointId } = walk.subscription
  await setHook(world, path, { secret, answers: [reply(500)] })
  tell('The receiver will answer 500 to the next request.')
  const eventId = await publishRecording(world, person, readRecording(world, 'product-review'), 'retry')
  const [first, second] = await awaitDeliveries(walk, { type: 'summary.completed', after, count: 2 })
  check(first?.eventId === eventId && second?.eventId === eventId, 'both attempts carry the same event')
  const inBoth = (header: string): boolean => first.headers[header] === second.headers[header]
  check(
    inBoth('x-service-delivery') && !inBoth('x-service-signature'),
    'both attempts carry the same delivery id, signed again',
  )
  const waitedSeconds = ((Date.parse(second.receivedAt) - Date.parse(first.receivedAt)) / 1000).toFixed(1)
  tell(`It came again ${waitedSeconds} s later, with the same ids and a new signature, and was accepted.`)

  const url = `${world.webhooksUrl}/v1/webhooks/${endpointId}/deliveries`
  const request = { bearer: connection.accessToken, quiet: true }
  const {
    attempts,
    status,
    last_error: lastError,
  } = await waitUntil(
    async () => {
      const { items } = await call<{ items: LoggedDelivery[] }>(world, 'GET', url, request)
      return items.find((item) => item.event_id === eventId && item.status !== 0)
    },
    { describe: 'final state in the delivery log' },
  )
  check(attempts === 2, `the log shows 2 attempts, not ${attempts}`)
  check(status === 1, `the log shows status 1, not ${status}`)
  tell(`GET …/deliveries shows attempts: ${attempts}, status: ${status}, last_error: ${lastError}`)
}

type LoggedDelivery = { event_id: string; status: number; attempts: number; last_error: string }
