import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { waitUntil } from '../../src/wait-until.js'

const START = new URL('../../dist/start.js', import.meta.url).href
const OPTIONS = new URL('../../start-options.mjs', import.meta.url).href

export interface Starter {
  process: ChildProcessByStdio<null, Readable, Readable>
  output(): string
  /** Waits until it has printed a text. */
  said(text: string | RegExp): Promise<void>
  exitCode: Promise<number | null>
}

/** Runs `npm start` for a folder that looks like the repository. */
export function startIn(folder: string, args: string[]): Starter {
  const script = `import { start } from '${START}'
    import { readStartArguments } from '${OPTIONS}'
    const { options } = readStartArguments(${JSON.stringify(args)})
    process.exit(await start(${JSON.stringify(folder)}, options))`
  const env = {
    ...process.env,
    npm_lifecycle_event: undefined,
    DATABASE_URL: undefined,
    REDIS_URL: undefined,
  }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return {
    process: child,
    output: () => text,
    said: async (wanted) => {
      const found = () =>
        (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)) || undefined
      await waitUntil(found, { describe: String(wanted), seen: () => text })
    },
    exitCode: once(child, 'exit').then(([code]) => code as number | null),
  }
}
