import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { codeBlocks } from './support/code-blocks.js'
import { repository } from './support/running-stack.js'
import { unquotedVariables } from './support/unquoted-variables.js'

// Readers paste the commands of documents into their shell, which is zsh on macOS.

const documents = execFileSync('git', ['-C', repository, 'ls-files', '*.md'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(repository, file)))

/** The problems that `find` reports in the commands of all documents, each with the name of the document. */
const problems = (find: (script: string) => string[]): string[] =>
  documents.flatMap((file) =>
    ['sh', 'bash', 'console', 'shell']
      .flatMap((language) => codeBlocks(readFileSync(join(repository, file), 'utf8'), language))
      .flatMap((script) => find(script).map((problem) => `${file}: ${problem}`)),
  )

describe('the commands of documents', () => {
  it('leave no variable unquoted, which zsh would not split into words', () => {
    expect(problems(unquotedVariables)).toEqual([])
  })

  // In zsh, `setopt interactive_comments` is off: what follows the # becomes arguments, and after a semicolon another command.
  it('of infra hold no comments, and the runbooks say how to allow theirs', () => {
    const comments = problems((script) => script.match(/(?<=^|\s)#\s.*$/gm) ?? [])
    expect(comments.filter((problem) => problem.startsWith('infra/'))).toEqual([])
    const page = readFileSync(join(repository, 'apps/dispatcher/docs/runbooks/README.md'), 'utf8')
    expect(page).toMatch(/setopt\s+interactive_comments/)
  })

  it('repeat no pipeline until a command succeeds that always does', () => {
    const ends = /\b(?:until|while) [^;\n]*\| *(?:sed|tail|head|cat|tr|sort)\b[^;\n]*/g
    expect(problems((script) => [...script.matchAll(ends)].map(([loop]) => loop))).toEqual([])
  })
})

describe('unquoted variables', () => {
  it.each([
    ['signet webhooks $WEBHOOK', ['$WEBHOOK']],
    ['ops resume --why "it is over" $by', ['$by']],
    ['run "$(list $ids)"', ['$ids']],
    ["echo 'the value'$more ${and}", ['$more', '${and}']],
    ['f() { echo $1; }', ['$1']],
  ])('%s', (script, found) => {
    expect(unquotedVariables(script)).toEqual(found)
  })

  it.each([
    'signet webhooks test "${WEBHOOK#test }"',
    'PORT=${PORT:-3000} PID=$!',
    'LINK=$(curl -s "$INBOX/api?to=$EMAIL" | grep -o \'$nothing [^" ]*\')',
    'node -e "found.$1" # what $1 is',
    'echo "\\"$quoted\\""',
  ])('has none: %s', (script) => {
    expect(unquotedVariables(script)).toEqual([])
  })
})
