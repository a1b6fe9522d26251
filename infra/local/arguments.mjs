// The arguments of npm scripts. Import only Node built-ins here: arguments are read before anything is installed.
import { parseArgs } from 'node:util'

/** Returns the values of the options, or a text to print and the exit code if there is nothing to run. */
export function readArguments(args, usage, options = {}) {
  try {
    const { values } = parseArgs({ args, options: { ...options, help: { type: 'boolean', default: false } } })
    return values.help ? { text: usage, code: 0 } : { values }
  } catch (error) {
    return { text: `${error.message}\n\n${usage}`, code: 2 }
  }
}

/** Returns the options that this process was given. If there is nothing to run, says why and ends the process. */
export function optionsOrExit(usage, options) {
  const { values, text, code } = readArguments(process.argv.slice(2), usage, options)
  if (values) return values
  console[code === 0 ? 'log' : 'error'](text)
  process.exit(code)
}
