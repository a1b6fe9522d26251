import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Options that a pool (Piscina) needs to start its threads. */
export type ThreadEntry = { filename: string; execArgv: string[] }

/**
 * The entry point of worker threads: the file `name` next to the module `moduleUrl` (its `import.meta.url`). Built threads use
 * `import`, not `require`: Node aborts the process when a thread is terminated while it requires an ES module. When running from source
 * (tests, development), the file is TypeScript and needs its own loader.
 */
export function threadEntry(moduleUrl: string, name: string): ThreadEntry {
  const fromSource = isSource(moduleUrl)
  return {
    filename: new URL(`./${name}.${fromSource ? 'ts' : 'js'}`, moduleUrl).href,
    execArgv: fromSource
      ? ['--conditions=@signet/source', '--import', 'tsx']
      : ['--no-experimental-require-module'],
  }
}

/** Starts one thread with such an entry point, without a pool. */
export function startThread(
  moduleUrl: string,
  name: string,
  { workerData, resourceLimits }: Pick<WorkerOptions, 'workerData' | 'resourceLimits'>,
): Worker {
  const { filename, execArgv } = threadEntry(moduleUrl, name)
  if (!isSource(moduleUrl))
    return new Worker(new URL(filename), { execArgv, workerData: workerData as unknown, resourceLimits })
  // A thread gets the loader for `require` only, so its file must not use top-level await. The loader needs more memory than the limits
  // allow.
  const { resolve } = createRequire(import.meta.url)
  const files = [resolve('tsx/cjs'), fileURLToPath(filename)]
  return new Worker(files.map((file) => `require(${JSON.stringify(file)})`).join('\n'), {
    eval: true,
    execArgv: ['--conditions=@signet/source'],
    workerData: workerData as unknown,
  })
}

/** In watch mode, module URLs in tests end in a query. */
const isSource = (moduleUrl: string) => /\.ts(\?|$)/.test(moduleUrl)
