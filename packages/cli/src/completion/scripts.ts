import type { CommandNode } from './command-tree.js'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** Returns a completion script for the shell. It is static and contains every command, so completing starts no process. */
export function completionScript(shell: Shell, program: string, nodes: readonly CommandNode[]): string {
  return GENERATORS[shell](program, nodes)
}

const GENERATORS: Readonly<Record<Shell, (program: string, nodes: readonly CommandNode[]) => string>> = {
  bash,
  zsh,
  fish,
}

/** The paths of commands, for the loop that walks the words typed so far. */
const paths = (nodes: readonly CommandNode[]): string[] =>
  nodes.map(({ path }) => path).filter((path) => path !== '')

function bash(program: string, nodes: readonly CommandNode[]): string {
  const cases = nodes.map(({ path, commands, options }) => {
    const words = [...commands.map(({ name }) => name), ...options.map(({ flag }) => flag)]
    return `    "${path}") offered="${words.join(' ')}" ;;`
  })
  return `# bash completion of ${program}
_${program}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at="" offered="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/\${COMP_WORDS[i]}" in
      ${paths(nodes).join(' | ')}) at="$at/\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _${program} ${program}
`
}

/** Not \`path\`: zsh ties that name to PATH. */
function zsh(program: string, nodes: readonly CommandNode[]): string {
  const item = (name: string, description: string) =>
    singleQuoted(`${name.replaceAll(':', '\\:')}:${description.replaceAll(':', '\\:')}`)
  const cases = nodes.map(({ path, commands, options }) => {
    const offeredCommands = commands.map(({ name, description }) => item(name, description))
    const offeredOptions = options.map(({ flag, description }) => item(flag, description))
    return `    '${path}')
      offered=(${offeredCommands.join(' ')})
      options=(${offeredOptions.join(' ')})
      ;;`
  })
  return `#compdef ${program}
# zsh completion of ${program}
_${program}() {
  local at="" word none=1
  local -a offered options
  for word in \${words[2,CURRENT-1]}; do
    case "$at/$word" in
      ${paths(nodes).join(' | ')}) at="$at/$word" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  (( \${#offered} )) && _describe -t commands command offered && none=0
  (( \${#options} )) && _describe -o -t options option options && none=0
  (( none )) && _files
}
if [ "$funcstack[1]" = "_${program}" ]; then
  _${program} "$@"
else
  compdef _${program} ${program}
fi
`
}

function fish(program: string, nodes: readonly CommandNode[]): string {
  const lines = nodes.flatMap(({ path, commands, options }) => {
    const here = `complete -c ${program} -n '__${program}_at "${path}"'`
    return [
      ...commands.map(({ name, description }) => `${here} -f -a ${name} -d ${singleQuoted(description)}`),
      ...options.map(({ flag, description, takesValue }) => {
        const long = flag.replace(/^--/, '')
        return `${here} -l ${long}${takesValue ? ' -r' : ''} -d ${singleQuoted(description)}`
      }),
    ]
  })
  return `# fish completion of ${program}
function __${program}_at
  set -l at ''
  set -l typed (commandline -opc)
  set -e typed[1]
  for word in $typed
    switch "$at/$word"
      case ${paths(nodes).join(' ')}
        set at "$at/$word"
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

/** Quotes our own texts, the descriptions of commands and options, in a way that works in both fish and zsh. */
function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`
}
