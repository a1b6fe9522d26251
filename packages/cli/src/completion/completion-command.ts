import { Argument, type Command } from 'commander'
import { run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { placesOf } from './command-tree.js'
import { completionScript, SHELLS, type Shell } from './scripts.js'

const HOW_TO = `
  bash: signet completion bash > ~/.local/share/bash-completion/completions/signet
  zsh:  signet completion zsh > "\${fpath[1]}/_signet"
  fish: signet completion fish > ~/.config/fish/completions/signet.fish`

export function completionCommand(parent: Command, host: Host): void {
  parent
    .command('completion')
    .description('print a completion script for your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText('after', HOW_TO)
    .action(
      run<object>(host, ({ output }, _options, shell) => {
        output.line(completionScript(shell as Shell, parent.name(), placesOf(parent)).trimEnd())
        return Promise.resolve()
      }),
    )
}
