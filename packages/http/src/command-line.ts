import { reportOutputFailures } from './output-failures.js'

/** A command of a service. If it rejects, the message is printed and the process exits with 1. */
export type Command = {
  summary: string
  /** For commands whose output a person reads. Unless this is set, arguments after the command are an error, and its output is a log. */
  takesArguments?: boolean
  run: (args: readonly string[]) => Promise<void>
}

type CommandLine = {
  service: { readonly name: string; readonly version: string }
  /** What people type to run it. By default, the name of the service. */
  program?: string | undefined
  commands: Readonly<Record<string, Command>>
  /** Runs when no command is given. */
  bare: Command
}

/** The exit code that shells use for usage errors. */
const USAGE_EXIT_CODE = 2

/** Runs the command line that every service has: its own commands, `version` and `--help`. */
export async function runCommandLine(line: CommandLine, args: readonly string[]): Promise<void> {
  const [name, ...rest] = args
  if (rest.length === 0 && name !== undefined && HELP.has(name)) return print(usageOf(line))
  if (rest.length === 0 && name !== undefined && VERSION.has(name))
    return print(`${line.service.name} ${line.service.version}`)
  const command = commandOf(line, name)
  if (command === undefined || (rest.length > 0 && command.takesArguments !== true))
    return fail(`Unknown command: ${args.join(' ')}\n\n${usageOf(line)}`, USAGE_EXIT_CODE)
  if (command.takesArguments) reportOutputFailures()
  await command
    .run(rest)
    .catch((error: unknown) => fail(error instanceof Error ? error.message : String(error), 1))
}

const HELP = new Set(['--help', '-h', 'help'])
const VERSION = new Set(['version', '--version'])

function commandOf({ commands, bare }: CommandLine, name: string | undefined): Command | undefined {
  if (name === undefined) return bare
  return Object.hasOwn(commands, name) ? commands[name] : undefined
}

function usageOf({ service, program = service.name, commands, bare }: CommandLine): string {
  const rows = [
    ['', bare.summary],
    ...Object.entries(commands).map(([name, { summary }]) => [name, summary]),
    ['version', 'Print name and version.'],
    ['--help', 'Print this.'],
  ]
  return [
    `Usage: ${program} [command]`,
    '',
    ...rows.map(([name = '', summary = '']) => `  ${(name === '' ? '(none)' : name).padEnd(10)} ${summary}`),
  ].join('\n')
}

function print(text: string): void {
  reportOutputFailures()
  process.stdout.write(`${text}\n`)
}

function fail(message: string, exitCode: number): void {
  reportOutputFailures()
  process.stderr.write(`${message}\n`)
  process.exitCode = exitCode
}
