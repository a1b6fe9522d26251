// jest's own runner of test files, except that Node loads the modules, and they stay loaded for the next file of the same worker. jest
// would load every module again for each file, which takes most of the time of most files.
import hooks from 'node:async_hooks'
import { createRequire, register } from 'node:module'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { setGlobals } from './globals.mjs'

register('./module-hooks.mjs', import.meta.url)
process.setSourceMapsEnabled(true)
endWhenTold()

const require = createRequire(import.meta.url)
const circus = require('jest-circus/runner').default
const NEEDS_OWN_MODULES = /mock$|^(isolate|reset)Modules/i
const runs = new Map()
/** Constants of jest-worker, which exports neither. */
const CHILD_MESSAGE_END = 2
const SIGTERM_EXIT_CODE = 143
/** Lower than the memory limit in jest.config.js. */
const MUCH_MEMORY = 900_000_000
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')
const { AsyncLocalStorage } = hooks
const storages = []

export default async function runTestFile(globalConfig, config, environment, runtime, path, ...rest) {
  // The file uses `@jest-environment node`, or this is a mutation run.
  if (environment.getVmContext() !== null)
    return circus(globalConfig, config, environment, runtime, path, ...rest)
  const sharing = Object.create(runtime, {
    requireInternalModule: { value: requireAgain },
    unstable_importModule: { value: (file) => importTest(file, runtime) },
  })
  Error.prepareStackTrace = undefined // jest's own function does not know these modules; Node has their source maps
  try {
    return await circus(globalConfig, config, environment, sharing, path, ...rest)
  } finally {
    forgetTests()
    // Node copies the value of every active storage into each new promise, so the storages of hundreds of files would slow down all
    // promises.
    for (const storage of storages.splice(0)) storage.disable()
    // jest would also replace a worker because of uncollected garbage, and the next worker would have to load all modules again.
    if (process.memoryUsage().heapUsed > MUCH_MEMORY) collectGarbage()
  }
}

/** Reloads the part of jest that keeps the state of one file. The modules that it requires stay loaded. */
function requireAgain(path) {
  delete require.cache[path]
  hooks.AsyncLocalStorage = StorageOfFile
  try {
    return require(path)
  } finally {
    hooks.AsyncLocalStorage = AsyncLocalStorage
  }
}

class StorageOfFile extends AsyncLocalStorage {
  constructor(...args) {
    super(...args)
    storages.push(this)
  }
}

function importTest(file, runtime) {
  const { jest, ...globals } = runtime.requireModuleOrMock(file, '@jest/globals')
  setGlobals({ ...globals, jest: withoutMockedModules(jest) })
  const run = (runs.get(file) ?? 0) + 1
  runs.set(file, run)
  return import(`${pathToFileURL(file).href}${run > 1 ? `?run=${run}` : ''}`)
}

/** Rejects calls that would silently mock nothing here. */
function withoutMockedModules(jest) {
  const refuse = (name) => () => {
    throw new Error(
      `jest.${name} needs modules of its own: begin the file with /** @jest-environment node */`,
    )
  }
  const names = Object.keys(jest).filter((name) => NEEDS_OWN_MODULES.test(name))
  return { ...jest, ...Object.fromEntries(names.map((name) => [name, refuse(name)])) }
}

/** Deletes the tests that jest keeps in globals, which outlive the file here. */
function forgetTests() {
  for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
    if (symbol.description === 'JEST_STATE_SYMBOL') delete globalThis[symbol]
  }
  delete globalThis[Symbol.for('EVENT_HANDLERS')]
}

/**
 * The files of a worker share what is slow to start: a browser, hashing threads, connections. Nobody closes those, so the worker exits
 * when jest has no more files for it or replaces it. Otherwise, jest would wait half a second for it to end, and Playwright's listener
 * for SIGTERM would keep it alive.
 */
function endWhenTold() {
  if (process.send === undefined) return
  const { exit } = process
  process.on('message', (message) => message?.[0] === CHILD_MESSAGE_END && exit())
  process.on('SIGTERM', () => exit(SIGTERM_EXIT_CODE))
}
