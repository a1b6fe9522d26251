import { type Browser, type BrowserContext, chromium } from 'playwright-core'

/** The Chromium that `npm test` found; null, with a message, if there is none. */
export function chromiumPath(): string | null {
  const path = process.env['CHROMIUM_BIN']
  if (path !== undefined && path !== '') return path
  process.stderr.write('Pages are not tested in a browser: no Chromium on PATH or at CHROMIUM_BIN.\n')
  return null
}

/** Not an expectation, only an upper bound: a busy machine may take long to show a page. */
const TIMEOUT_MS = 150_000

/** A browser as one user sees it: what others opened in the same process is invisible, and `close` leaves it open. */
export type Chromium = Pick<Browser, 'newContext' | 'newPage' | 'close'>

/** A jest worker keeps the process for its next test file; the process ends with the worker. */
const KEPT = process.env['JEST_WORKER_ID'] !== undefined && process.send !== undefined

type Process = { browser: Promise<Browser>; users: number }
let running: Process | undefined

/** All callers share one process, because starting one takes longer than most pages do. */
export async function launchChromium(): Promise<Chromium> {
  const shared = (running ??= start())
  shared.users += 1
  const browser = await shared.browser
  const contexts: BrowserContext[] = []
  const opened = (context: BrowserContext) => {
    context.setDefaultTimeout(TIMEOUT_MS)
    contexts.push(context)
    return context
  }
  let closed = false
  return {
    newContext: async (options) => opened(await browser.newContext(options)),
    newPage: async (options) => {
      const page = await browser.newPage(options)
      opened(page.context())
      return page
    },
    close: async () => {
      await Promise.all(contexts.splice(0).map((context) => context.close()))
      if (!closed) shared.users -= 1
      closed = true
      if (shared.users > 0 || KEPT) return
      forget(shared)
      await browser.close()
    },
  }
}

function start(): Process {
  const started: Process = { browser: launch(), users: 0 }
  // Forget a process that crashed or did not start.
  const over = () => forget(started)
  started.browser.then((browser) => browser.once('disconnected', over), over)
  return started
}

function forget(process: Process): void {
  if (running === process) running = undefined
}

async function launch(): Promise<Browser> {
  const executablePath = chromiumPath()
  if (executablePath === null) throw new Error('no Chromium to launch')
  return chromium.launch({
    executablePath,
    args: [
      // Containers run as root and have a small /dev/shm.
      '--no-sandbox',
      '--disable-dev-shm-usage',
      // The CPU draws pages in any case; a separate GPU process and more threads only cost a tenth more CPU time.
      '--in-process-gpu',
      '--num-raster-threads=1',
    ],
    timeout: TIMEOUT_MS,
  })
}
