import { CommanderError } from 'commander'
import type { Host } from './command/host.js'
import { CliError, UsageError } from './errors.js'
import { ExitCode } from './exit-codes.js'
import { Output } from './output/output.js'
import { createProgram } from './program.js'

const BUG_HINT = 'This is a mistake in signet. Please report it with the command you ran, without any secret.'

/** Runs one command line and returns the exit code. Never throws. */
export async function runProgram(host: Host, args: readonly string[]): Promise<number> {
  const program = createProgram(host)
  const { stdout, stderr, env } = host
  // Looks for `--json` without the parser, because the parser may be unable to parse this command line.
  const output = new Output({ stdout, stderr, env, json: args.includes('--json') })
  try {
    await program.parseAsync(args, { from: 'user' })
    return ExitCode.ok
  } catch (error) {
    return report(error, output)
  }
}

function report(error: unknown, output: Output): number {
  if (error instanceof CommanderError && error.exitCode === 0) return ExitCode.ok
  // A group was called without a command. The help that was printed is the answer.
  if (error instanceof CommanderError && error.code === 'commander.help') return ExitCode.usage
  const failure = asCliError(error)
  output.error(failure)
  return failure.exitCode
}

function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) {
    const message = error.message
      .replace(/^error: /, '')
      .replace(/^command-argument value/, 'the value')
      // The parser adds this line break itself. All others were typed by the user and are shown escaped.
      .replace(/\n(?=\(Did you mean [^\n]+\?\)$)/, ' ')
    return new UsageError(message, {
      hint: '`signet --help` and `signet <command> --help` show what there is.',
    })
  }
  return new UnexpectedError(error)
}

/** Names the place but not the cause's message, which could contain anything, including a token. */
class UnexpectedError extends CliError {
  readonly exitCode = ExitCode.internal
  readonly code = 'internal'

  constructor(cause: unknown) {
    const [name, place = ''] = cause instanceof Error ? [cause.name, firstFrame(cause)] : [typeof cause]
    super(`Unexpected ${name} ${place}`.trim(), { hint: BUG_HINT, cause })
  }
}

function firstFrame({ stack = '' }: Error): string | undefined {
  return /^ +(at .+)$/m.exec(stack)?.[1]
}
