import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removePostgresData } from '../../src/index.js'
import { localWorld } from '../../src/walk.js'
import type { World } from '../../src/walkthrough/index.js'
import { startIn } from './starter.js'

export const repository = fileURLToPath(new URL('../../../..', import.meta.url))

export type RunningStack = { folder: string; world: World; stop(): Promise<void> }

/** The real services as `npm start -- --no-demo` runs them, with separate data. */
export async function runningStack(): Promise<RunningStack> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-stack-'))
  for (const name of ['apps', 'infra', 'packages']) symlinkSync(join(repository, name), join(folder, name))
  const starter = startIn(folder, ['--no-demo'])
  await starter.said('Ctrl-C stops everything')
  const world = localWorld(folder)
  if (!world) throw new Error('no addresses were noted')
  return {
    folder,
    world,
    async stop() {
      starter.process.kill('SIGTERM')
      await starter.exitCode
      removePostgresData(join(folder, '.data/postgres'))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
