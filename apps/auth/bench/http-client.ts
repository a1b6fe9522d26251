import { connect, type Socket } from 'node:net'

type Asked = { method: 'GET' | 'POST'; path: string; token?: string; body?: object }

/**
 * A keep-alive client of one server that does no more than HTTP needs: the load shares the machine with what it
 * measures, so a comfortable client would be measured too.
 */
export class HttpClient {
  readonly #host: string
  readonly #port: number
  readonly #all: Connection[] = []
  readonly #free: Connection[] = []

  constructor(base: string) {
    const { hostname, port } = new URL(base)
    this.#host = hostname
    this.#port = Number(port)
  }

  /** Returns the text of a good response, and throws for any other. Opens as many connections as there are simultaneous requests. */
  async ask(asked: Asked): Promise<string> {
    const connection = this.#free.pop() ?? this.#open()
    const { status, text } = await connection.send(requestText(this.#host, asked))
    this.#free.push(connection)
    if (status !== 200) throw new Error(`${asked.path} answered ${status}: ${text}`)
    return text
  }

  close(): void {
    for (const connection of this.#all) connection.close()
  }

  #open(): Connection {
    const connection = new Connection(connect(this.#port, this.#host))
    this.#all.push(connection)
    return connection
  }
}

function requestText(host: string, { method, path, token, body }: Asked): string {
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${authorization}`
  if (!body) return `${head}\r\n`
  const text = JSON.stringify(body)
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

type Answer = { status: number; text: string }

/** One request at a time. */
class Connection {
  #received: Buffer = Buffer.alloc(0)
  #settle: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined

  constructor(private readonly socket: Socket) {
    socket.setNoDelay()
    socket.on('data', (bytes) => this.#take(bytes))
    socket.on('error', (error) => this.#settle?.reject(error))
    socket.on('close', () => this.#settle?.reject(new Error('the server closed the connection')))
  }

  send(text: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.socket.write(text)
    })
  }

  close(): void {
    this.#settle = undefined
    this.socket.destroy()
  }

  #take(bytes: Buffer): void {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#received.toString('latin1', 0, headEnd)
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
    const bodyStart = headEnd + 4
    const bodyEnd = bodyStart + Number(length)
    if (this.#received.length < bodyEnd) return
    const text = this.#received.toString('utf8', bodyStart, bodyEnd)
    this.#received = Buffer.alloc(0)
    this.#settle?.resolve({ status: Number(head.slice(9, 12)), text })
  }
}
