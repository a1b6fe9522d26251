import { rmSync } from 'node:fs'

export default async function globalTeardown() {
  const { folder, postgres, redis } = globalThis.signetTestServers
  await Promise.all([postgres?.stop(), redis?.stop()])
  rmSync(folder, { recursive: true, force: true })
}
