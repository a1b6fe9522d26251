import { Argument, type Command } from 'commander'
import { defineCommand, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { commandNodes } from './command-tree.js'
import { completionScript, SHELLS, type Shell } from './scripts.js'

const HOW_TO = [
  'signet completion bash > ~/.local/share/bash-completion/completions/signet',
  'signet completion zsh > "${fpath[1]}/_signet"',
  'signet completion fish > ~/.config/fish/completions/signet.fish',
] as const

export function completionCommand(parent: Command, host: Host): void {
  defineCommand(parent, 'completion', 'print a completion script for your shell', {
    usesService: false,
    examples: HOW_TO,
  })
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action(
      run<object>(host, ({ output }, _options, shell) => {
        const script = completionScript(shell as Shell, parent.name(), commandNodes(parent)).trimEnd()
        output.result({ shell, script }, () => script)
        return Promise.resolve()
      }),
    )
}
