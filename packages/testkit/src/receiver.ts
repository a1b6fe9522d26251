import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Answer as PlainAnswer,
  type DeliveryFilter as PlainFilter,
  type Hook as PlainHook,
  type ReceivedDelivery,
  startReceiver as startPlainReceiver,
  waitUntil,
} from '@signet/local'

/** How the receiver treats one request, well or badly. */
export type Answer =
  | (Omit<PlainAnswer, 'instead'> & {
      kind?: undefined
      delayMs?: number
      /** Replies when this resolves, so that a test decides what happens first. */
      after?: Promise<unknown>
    })
  /** Accepts the request and never answers. */
  | { kind: 'hang' }
  /** Sends a complete head and then a byte of the body now and then, forever. */
  | { kind: 'drip-body'; everyMs?: number }
  /** Sends the status line letter by letter, forever. */
  | { kind: 'drip-head'; everyMs?: number }
  /** Breaks the connection instead of answering. */
  | { kind: 'close' }
  /** Sends bytes that are not HTTP. */
  | { kind: 'garbage' }

export interface Hook extends Pick<PlainHook, 'secret'> {
  /** One per request, in order; afterwards 200. */
  answers?: readonly Answer[]
  /** Replaces the 200 after (or without) `answers`. */
  otherwise?: Answer
}

export interface DeliveryFilter extends PlainFilter {
  /** The type of the event. */
  type?: string
  timeoutMs?: number
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** The receiver of the local stack, which also misbehaves on demand and can wait for deliveries. */
export async function startReceiver(options?: Parameters<typeof startPlainReceiver>[0]) {
  const receiver = await startPlainReceiver(options)
  let connections = 0
  receiver.server.on('secureConnection', () => (connections += 1))
  return {
    ...receiver,
    /** The number of connections so far; a reused connection counts once. */
    get connections() {
      return connections
    },
    /** Sets what a path expects and how it behaves, replacing what was set before. */
    hook(path: string, { secret, answers = [], otherwise }: Hook): void {
      receiver.hook(path, { secret, answers: answers.map(plain), otherwise: otherwise && plain(otherwise) })
    },
    /** The first delivery that matches, arrived or still to come. */
    waitForDelivery: ({ timeoutMs, type, ...filter }: DeliveryFilter = {}): Promise<ReceivedDelivery> =>
      waitUntil(
        () =>
          receiver
            .deliveries(filter)
            .find(({ headers }) => type === undefined || headers['x-service-event'] === type),
        {
          timeoutMs,
          describe: `delivery ${JSON.stringify({ ...filter, type, after: filter.after?.number })}`,
          seen: () => {
            const came = receiver.deliveries()
            return `${came.length} deliveries came: ${came.map(describe).join('; ')}`
          },
        },
      ),
  }
}

/** The status of a delivery that got no reply. */
export const NO_REPLY = 0

const plain = (answer: Answer): PlainAnswer => ({
  status: answer.kind ? NO_REPLY : answer.status,
  instead: (request, response) => act(answer, request, response),
})

const describe = ({ path, headers, verified, refusal }: ReceivedDelivery): string =>
  `${path} ${String(headers['x-service-event'])} ${verified === false ? `refused (${refusal})` : 'taken'}`

export const reply = (
  status: number,
  more: Omit<Answer & { kind?: undefined }, 'kind' | 'status'> = {},
): Answer => ({ status, ...more })

const DRIP_MS = 200

/** Acts out an answer. Returns at once; delays and drips end by themselves when the connection does. */
function act(answer: Answer, { socket }: IncomingMessage, response: ServerResponse): void {
  // Listens on the response, because the connection may carry hundreds of answers.
  const untilClosed = (timer: NodeJS.Timeout): void => void response.once('close', () => clearTimeout(timer))
  switch (answer.kind) {
    case undefined: {
      const send = () => response.writeHead(answer.status, answer.headers).end(answer.body)
      if (answer.after) void answer.after.then(send)
      else if (answer.delayMs) untilClosed(setTimeout(send, answer.delayMs))
      else send()
      return
    }
    case 'hang':
      return
    case 'drip-body':
      response.writeHead(200).write('.')
      untilClosed(setInterval(() => response.write('.'), answer.everyMs ?? DRIP_MS))
      return
    case 'drip-head':
      socket.write('HTTP/1.1 200 OK\r\nX-Drip: ')
      untilClosed(setInterval(() => socket.write('a'), answer.everyMs ?? DRIP_MS))
      return
    case 'close':
      socket.destroy()
      return
    case 'garbage':
      socket.end('This is not the protocol you are looking for.\r\n\r\n')
      return
    default:
      answer satisfies never
  }
}
