import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What a watched process is told to check. */
export type WatchedProcess = {
  /** The file to which it writes the answers that no document promises. */
  report: string
  services: { port: number; document: string; undocumented: string }[]
}

const HOOK = new URL('../../dist/open-api/watched-process.js', import.meta.url).href
const documentOf = (file: string) => fileURLToPath(new URL(`../../../../apps/${file}`, import.meta.url))

/** What the services offer outside their documents: pages for people, and endpoints for probes and monitoring. */
export const UNDOCUMENTED = {
  auth: /^\/?(?:$|\?)|^\/(?:ui|readyz|favicon)\b/,
  webhooks: /^\/?(?:$|\?)|^\/(?:portal|favicon|form\.js|healthz|readyz)/,
  internal: /^\/(?:metrics|healthz|readyz)/,
}
const DOCUMENTS = {
  auth: documentOf('auth/docs/openapi.json'),
  webhooks: documentOf('webhooks/docs/openapi.json'),
  internal: documentOf('webhooks/docs/openapi-internal.json'),
}
type Service = keyof typeof DOCUMENTS

/**
 * Makes services that run as separate processes compare every response with their documents. Start them with `args` and
 * `env`. A port of 0 stands for the port that the process picks. `end` throws if there was an answer that no document promises.
 */
export function watchProcess(folder: string, ports: Partial<Record<Service, number>>) {
  const report = join(folder, 'wrong-answers')
  const services = (Object.entries(ports) as [Service, number][]).map(([name, port]) => ({
    port,
    document: DOCUMENTS[name],
    undocumented: UNDOCUMENTED[name].source,
  }))
  // A process that serves none of them need not load the checker.
  const isWatched = services.length > 0
  const told = JSON.stringify({ report, services } satisfies WatchedProcess)
  const env: Record<string, string> = isWatched ? { SIGNET_WATCHED_ANSWERS: told } : {}
  return {
    args: isWatched ? ['--import', HOOK] : [],
    env,
    end: () => {
      if (existsSync(report))
        throw new Error(`Answers that no document promises:\n${readFileSync(report, 'utf8')}`)
    },
  }
}
