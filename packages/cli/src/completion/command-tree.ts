import type { Command } from 'commander'

export type CompletedOption = { flag: string; description: string; takesValue: boolean }
export type CompletedCommand = { name: string; description: string }

/** A command and what may follow it on the command line. `path` looks like `/webhooks/list` and is empty for the program itself. */
export type CommandNode = { path: string; commands: CompletedCommand[]; options: CompletedOption[] }

/** Every command of the program, so that the scripts can only offer what exists. */
export function commandNodes(command: Command, path = ''): CommandNode[] {
  const help = command.createHelp()
  const commands = command.commands.map((one) => ({ name: one.name(), description: one.description() }))
  const options = help
    .visibleOptions(command)
    .flatMap(({ long, description, required }) =>
      long ? [{ flag: long, description, takesValue: required }] : [],
    )
  return [
    { path, commands, options },
    ...command.commands.flatMap((one) => commandNodes(one, `${path}/${one.name()}`)),
  ]
}
