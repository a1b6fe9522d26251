// The environment of test files that share modules: the globals of the process itself instead of a copy for each file.
// It restores what files most easily leave changed. A file that needs separate globals says `@jest-environment node`.
import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'

export default class SharedEnvironment {
  global = globalThis
  fakeTimers = null
  moduleMocker = new ModuleMocker(globalThis)
  #before = {
    console: globalThis.console,
    exit: process.exit,
    exitCode: process.exitCode,
    env: { ...process.env },
    folder: process.cwd(),
  }

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis })
  }

  async setup() {}

  async teardown() {
    const { console, exit, exitCode, env, folder } = this.#before
    this.fakeTimersModern.dispose()
    globalThis.console = console
    process.exit = exit
    process.exitCode = exitCode
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
    Object.assign(process.env, env)
    if (process.cwd() !== folder) process.chdir(folder)
  }

  exportConditions() {
    return []
  }

  /** None, so that the runner imports modules natively; files that have a context run in jest's own way. */
  getVmContext() {
    return null
  }
}
