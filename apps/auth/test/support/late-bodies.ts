import { request } from 'node:http'
import { jest } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import type { ApiAnswer } from './api.js'
import type { TestServer } from './server.js'

export type LateRequest = { method: string; path: string; body: object }
export type LateAnswer = Pick<ApiAnswer, 'status' | 'body'>

/** Sends the headers of requests and waits until the gate has looked up all callers. The returned function sends the bodies. */
export async function sendHeads(
  server: TestServer,
  token: string,
  requests: readonly LateRequest[],
): Promise<() => Promise<LateAnswer[]>> {
  const { sessions } = server.context.stores
  const find = sessions.findCallers.bind(sessions)
  let decided = 0
  const spy = jest.spyOn(sessions, 'findCallers').mockImplementation(async (db, holders) => {
    const found = await find(db, holders)
    decided += holders.length
    return found
  })
  const begun = requests.map((one) => begin(server, token, one))
  await waitFor(() => decided === requests.length)
  spy.mockRestore()
  return () => Promise.all(begun.map((finish) => finish()))
}

function begin({ url }: TestServer, token: string, { method, path, body }: LateRequest) {
  const text = JSON.stringify(body)
  const sent = request(`${url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
    },
  })
  const answered = new Promise<LateAnswer>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', (response) => {
      let received = ''
      response.setEncoding('utf8').on('data', (part: string) => (received += part))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: received === '' ? {} : (JSON.parse(received) as LateAnswer['body']),
        }),
      )
    })
  })
  sent.flushHeaders()
  return () => {
    sent.end(text)
    return answered
  }
}
