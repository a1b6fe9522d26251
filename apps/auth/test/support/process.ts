import { fileURLToPath } from 'node:url'
import { leasePort } from '@signet/local'
import { watchProcess } from '@signet/testkit/open-api'

/** The built program. */
export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/**
 * A port, and arguments of Node and variables with which the program listens there and compares each of its answers with its
 * document. `end` fails when there was an answer that it does not promise.
 */
export async function watchedProgram(folder: string) {
  const port = await leasePort()
  const { args, env, end } = watchProcess(folder, { auth: port })
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    args: [...args, MAIN],
    env: { ...env, PORT: String(port) },
    end,
  }
}
