import { InvalidArgumentError, Option, type Command } from 'commander'
import { createContext, type CommonOptions, type Context } from './context.js'
import type { Host } from './host.js'

const json = new Option('--json', 'print JSON for programs')
const serviceUrl = new Option('--url <address>', 'webhooks service (SIGNET_URL)')
const identityUrl = new Option('--auth-url <address>', 'identity service (SIGNET_AUTH_URL)')
const profile = new Option('--profile <name>', 'sign-ins to use (SIGNET_PROFILE)')

/** Adds the options that every command takes to the program, so that they can come before the command. */
export function commonOptions(program: Command): Command {
  program.enablePositionalOptions()
  for (const option of [json, serviceUrl, identityUrl, profile]) program.addOption(option)
  return program
}

/** Whole command lines, shown at the end of the help. */
type Examples = readonly [string, ...string[]]

type CommandOptions = {
  examples: Examples
  /** False for commands that talk to no service. */
  usesService?: boolean
  /** True for commands that sign in. */
  signsIn?: boolean
}

/** A command with the common options, which may also follow its name. */
export function defineCommand(
  parent: Command,
  usage: string,
  description: string,
  { examples, usesService = true, signsIn = false }: CommandOptions,
): Command {
  const command = parent.command(usage).description(description)
  if (usesService) command.addOption(serviceUrl).addOption(profile)
  if (signsIn) command.addOption(identityUrl)
  return withExamples(command.addOption(json), examples)
}

/** A command that only has subcommands. */
export const defineGroup = (
  parent: Command,
  name: string,
  description: string,
  examples: Examples,
): Command => withExamples(parent.command(name).description(description), examples)

export const withExamples = (command: Command, examples: Examples): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`)

/** A command's action: gets its context, its own options and its arguments. */
export function run<Options extends object>(
  host: Host,
  work: (context: Context, options: Options, ...args: string[]) => Promise<void>,
): (...parameters: unknown[]) => Promise<void> {
  return async (...parameters) => {
    // Commander passes the command itself last.
    const command = parameters.at(-1) as Command
    const context = createContext(host, optionsOf(command))
    try {
      await work(context, command.opts<Options>(), ...(command.processedArgs as string[]))
    } finally {
      context.prompter.close()
    }
  }
}

/** Options after the command override those before it. */
function optionsOf(command: Command): CommonOptions {
  return { ...rootOf(command).opts<CommonOptions>(), ...command.opts<CommonOptions>() }
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent)
}

/** An option that takes a whole number in a range. */
export function integerOption(flags: string, description: string, min: number, max: number): Option {
  return new Option(flags, description).argParser((text) => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN
    if (!(value >= min && value <= max)) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    }
    return value
  })
}

/** Ids are decimal numbers as text; anything else would be another path. */
export function parseId(text: string): string {
  if (!/^[1-9][0-9]{0,18}$/.test(text)) throw new InvalidArgumentError('An id is a number, such as 42.')
  return text
}
