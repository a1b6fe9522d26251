import type { Command } from 'commander'
import type { Host } from './command/host.js'
import { createProgram } from './program.js'

/** Documents generated from the code. `npm run docs` writes them; a check fails when one is stale. */
export function generatedDocs(): Record<string, string> {
  const parts: string[] = []
  // The program prints the help itself, so that this includes what only `--help` shows, such as examples.
  const stream = { write: (text: string) => parts.push(text) } as unknown as NodeJS.WriteStream
  const program = createProgram({ stdout: stream, stderr: stream, env: {} } as Host)
  const sections = [program, ...commandsOf(program)].map((command) => {
    parts.length = 0
    command.configureHelp({ helpWidth: 110 }).outputHelp()
    return `## \`${nameOf(command)}\`\n\n\`\`\`text\n${parts.join('').trim()}\n\`\`\`\n`
  })
  return { 'docs/commands.md': `${INTRODUCTION}\n${sections.join('\n')}` }
}

const INTRODUCTION = `# Command line of signet

What \`--help\` prints, for every command. The [README](../README.md) shows them at work.
`

const commandsOf = (command: Command): Command[] =>
  command.commands.flatMap((one) => [one, ...commandsOf(one)]).filter((one) => one.name() !== 'help')

const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
