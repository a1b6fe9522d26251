/** Something a service can be told to do. When it rejects, the message is printed and the process ends with 1. */
export type Command = {
  summary: string
  /** Without this, arguments behind the command are refused. */
  takesArguments?: boolean
  run: (args: readonly string[]) => Promise<void>
}

export type CommandLine = {
  service: { readonly name: string; readonly version: string }
  commands: Readonly<Record<string, Command>>
  /** What happens without an argument. */
  fallback: Command
}

/** As shells do for a command line that makes no sense, so that it differs from a failure. */
const USAGE_EXIT_CODE = 2

/** The command line that all services have in common: their own commands, `version` and `--help`. */
export async function runCommandLine(line: CommandLine, args: readonly string[]): Promise<void> {
  const [name, ...rest] = args
  if (rest.length === 0 && name !== undefined && HELP.has(name)) return print(usageOf(line))
  if (rest.length === 0 && name !== undefined && VERSION.has(name))
    return print(`${line.service.name} ${line.service.version}`)
  const command = commandOf(line, name)
  if (command === undefined || (rest.length > 0 && command.takesArguments !== true))
    return fail(`Unknown command: ${args.join(' ')}\n\n${usageOf(line)}`, USAGE_EXIT_CODE)
  await command
    .run(rest)
    .catch((error: unknown) => fail(error instanceof Error ? error.message : String(error), 1))
}

const HELP = new Set(['--help', '-h', 'help'])
const VERSION = new Set(['version', '--version'])

function commandOf({ commands, fallback }: CommandLine, name: string | undefined): Command | undefined {
  if (name === undefined) return fallback
  return Object.hasOwn(commands, name) ? commands[name] : undefined
}

function usageOf({ service, commands, fallback }: CommandLine): string {
  const rows = [
    ['', fallback.summary],
    ...Object.entries(commands).map(([name, { summary }]) => [name, summary]),
    ['version', 'Print name and version.'],
    ['--help', 'Print this.'],
  ]
  return [
    `Usage: ${service.name} [command]`,
    '',
    ...rows.map(([name = '', summary = '']) => `  ${(name === '' ? '(none)' : name).padEnd(10)} ${summary}`),
  ].join('\n')
}

const print = (text: string) => void process.stdout.write(`${text}\n`)

function fail(message: string, exitCode: number): void {
  process.stderr.write(`${message}\n`)
  process.exitCode = exitCode
}
