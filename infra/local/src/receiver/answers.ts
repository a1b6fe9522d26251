import type { IncomingMessage, ServerResponse } from 'node:http'

/** How the receiver treats one request. */
export type Answer =
  | {
      kind: 'reply'
      status: number
      headers?: Record<string, string>
      body?: string | Buffer
      delayMs?: number
      /** Replies when this resolves, so that a test decides what happens first. */
      after?: Promise<unknown>
    }
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

export const reply = (
  status: number,
  more: Omit<Answer & { kind: 'reply' }, 'kind' | 'status'> = {},
): Answer => ({ kind: 'reply', status, ...more })

const DRIP_MS = 200

/** Acts out an answer. Returns at once; delays and drips end by themselves when the connection does. */
export function act(answer: Answer, { socket }: IncomingMessage, response: ServerResponse): void {
  const untilClosed = (timer: NodeJS.Timeout): void => void socket.once('close', () => clearTimeout(timer))
  switch (answer.kind) {
    case 'reply': {
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
