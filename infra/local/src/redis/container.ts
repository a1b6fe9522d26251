import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { type Guarded, startGuarded } from '../child.js'
import type { RedisProgram } from './ways.js'

/**
 * Runs the server in a container that is gone when it stops, its data with it: what Redis holds is a schedule, which the
 * sweeper writes again. The engine's client passes our signals on; only it is a process of ours.
 */
export async function startContainer(
  { command, image = '' }: Pick<RedisProgram, 'command' | 'image'>,
  { port, logFile, args }: { port: number; logFile: string; args: readonly string[] },
): Promise<Guarded> {
  const name = `signet-redis-${randomBytes(6).toString('hex')}`
  const client = await startGuarded({
    command,
    args: [
      ...['run', '--rm', '--name', name, '--publish', `127.0.0.1:${port}:${port}`],
      ...[image, 'valkey-server', '--port', String(port)],
      // The engine's proxy is no loopback address; from outside only this machine's own reaches it.
      ...['--bind', '0.0.0.0', '--protected-mode', 'no', ...args],
    ],
    stopSignal: 'TERM',
    logFile,
  })
  return {
    pid: client.pid,
    exited: client.exited,
    get running() {
      return client.running
    },
    kill(signal) {
      spawnSync(command, ['kill', '--signal', signal, name])
    },
    async stop(timeoutMs) {
      const exit = await client.stop(timeoutMs)
      // Only there when the client had to be killed.
      spawnSync(command, ['rm', '--force', name])
      return exit
    },
  }
}
