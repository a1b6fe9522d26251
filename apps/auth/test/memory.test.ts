import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it } from '@jest/globals'
import { createInstallation, NO_MAIL_SERVER } from './support/process.js'

/** Prints how large the young generation of the heap is whenever the process receives SIGUSR2. */
const PROBE = `data:text/javascript,${encodeURIComponent(`
  import { getHeapSpaceStatistics } from 'node:v8'
  process.on('SIGUSR2', () => {
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
    process.stdout.write(JSON.stringify({ msg: 'young', bytes: young.space_size }) + '\\n')
  })`)}`

it('a start leaves a small young generation, although it loads hundreds of modules that stay', async () => {
  const installation = await createInstallation(NO_MAIL_SERVER)
  try {
    const { child } = await installation.start({}, ['--import', PROBE])
    if (!child.stdout) throw new Error('no output')
    const lines = createInterface({ input: child.stdout })
    const young = new Promise<number>((resolve) => {
      lines.on('line', (line) => {
        const { msg, bytes } = JSON.parse(line) as { msg: string; bytes: number }
        if (msg === 'young') resolve(bytes)
      })
    })
    child.kill('SIGUSR2')
    // Left to itself, V8 would make it 32 MiB large.
    expect(await young).toBeLessThanOrEqual(8 * 2 ** 20)
    child.kill('SIGTERM')
    await once(child, 'exit')
  } finally {
    await installation.close()
  }
})
