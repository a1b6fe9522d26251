// The environment of test files that share modules. They use the globals of the process itself instead of a copy for each file.
// Restores the globals that files most often leave changed. A file that needs separate globals uses `@jest-environment node`.
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

  /** There is no context, so that the runner imports modules natively. Files with a context run in jest's own way. */
  getVmContext() {
    return null
  }
}
