// Checks the tests that the threat model names in the last column of its tables: each file must exist, and contain a test for each
// title in quotes behind it. `…` and `%s` match anything. The title of a test with many cases may also contain one from its file. Files
// are in the folder that the section names, unless they start with `apps/…`, `packages/…` or `src/…`. A section may give them a letter,
// as in "`proof.test.ts` (P)".
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../local/bootstrap.mjs'

const PAGE = 'apps/auth/docs/threat-model.md'
const { values } = parseArgs({ options: { page: { type: 'string', default: join(root, PAGE) } } })

const NAMED = /`([\w./-]+\.test\.ts)`|(?<=^|[;,] )([A-Z])(?= ")|"([^"]+)"/g
const LETTER = /`([\w./-]+\.test\.ts)` \(([A-Z])\)/g
const ANYTHING = /…|%[a-z]|\$\{[^}]*\}|\$\w+/g
const FOLDER = /`(apps\/\w+\/test\/)` unless/
/** Matches the first text in a call of it, test or describe, with or without a table. */
const TITLE = /(?:\b(?:it|test|describe)(?:\.\w+)*\(|\)\(|`\()\s*(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`([^`]*)`)/g

const problems = []
let number = 0
for (const section of readFileSync(values.page, 'utf8').split(/^(?=## )/m)) {
  const letters = new Map([...section.matchAll(LETTER)].map(([, file, letter]) => [letter, file]))
  const folder = FOLDER.exec(section)?.[1] ?? 'apps/auth/test/'
  for (const line of section.split('\n').slice(0, -1)) {
    number += 1
    const cells = line.split(/(?<!\\)\|/)
    if (line.startsWith('| ')) checkTests(cells.at(-2).trim(), letters, folder)
  }
}
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

function checkTests(cell, letters, folder) {
  const report = (problem) => problems.push(`${PAGE}:${number}  ${problem}`)
  let path
  for (const [, name, letter, title] of cell.matchAll(NAMED)) {
    if (title === undefined) {
      path = pathOf(name ?? letters.get(letter) ?? letter, folder)
      if (!existsSync(join(root, path))) report(`there is no ${path}`)
    } else if (path === undefined) report(`"${title}" stands behind no file`)
    else if (existsSync(join(root, path)) && !hasTest(path, title)) report(`${path} has no test "${title}"`)
  }
}

function pathOf(name, folder) {
  if (/^(apps|packages)\//.test(name)) return name
  return name.startsWith('src/') ? `apps/auth/${name}` : `${folder}${name}`
}

function hasTest(path, title) {
  const source = readFileSync(join(root, path), 'utf8')
  return [...source.matchAll(TITLE)].some(([, ...texts]) => {
    const written = texts.find((text) => text !== undefined).replaceAll('\\', '')
    if (patternOf(title).test(written)) return true
    const cases = /\p{L}/u.test(written.replaceAll(ANYTHING, '')) && patternOf(written).exec(title)
    return cases && cases.slice(1).every((value) => source.includes(`'${value}'`))
  })
}

function patternOf(title) {
  const parts = title.split(ANYTHING).map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('(.*)')}$`, 's')
}
