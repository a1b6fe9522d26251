import { rmSync } from 'node:fs'
import { afterEach, expect, it } from '@jest/globals'
import { aRepository, addFiles, checked, git } from './support/repository.js'

let folder: string
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function check(files: Readonly<Record<string, string>>) {
  folder = aRepository(files)
  return checked('words.mjs', folder)
}

const FAULT = 'It is no row.'
const FOUND = '"is no row": say is not a …'

it('finds a phrase in Markdown, comments, YAML, English texts and titles of tests', () => {
  const { status, problems } = check({
    'CHANGELOG.md': FAULT,
    'code.mts': `/**\n * ${FAULT}\n */`,
    'code.test.ts': `  ])('${FAULT}', () => {\nit.each(A)('fine', () => '${FAULT}')\n  it('${FAULT}', () => {`,
    'code.ts': `run() //${' '}${FAULT}`,
    'infra/databases.sql': `select 1; -- ${FAULT}`,
    'page.md': FAULT,
    'rules.yaml': `summary: ${FAULT}`,
    'texts.de.json': `{\n  "a": "${FAULT}"\n}`,
    'texts.en.json': `{\n  "a": "${FAULT}"\n}`,
  })
  expect([status, ...problems]).toEqual([
    1,
    `CHANGELOG.md:1  ${FOUND}`,
    `code.mts:2  ${FOUND}`,
    `code.test.ts:1  ${FOUND}`,
    `code.test.ts:3  ${FOUND}`,
    `code.ts:1  ${FOUND}`,
    `infra/databases.sql:1  ${FOUND}`,
    `page.md:1  ${FOUND}`,
    `rules.yaml:1  ${FOUND}`,
    `texts.en.json:2  ${FOUND}`,
  ])
})

it('finds each phrase of a page', () => {
  const text = [
    'This is to be done.',
    'They were not to be sent.',
    'Such a one is sent.',
    'It mends the list.',
    'The owner hears of it.',
    'It belongs into a folder, where owners get to know it anew.',
    'Well done.',
  ]
  expect(check({ 'page.md': text.join('\n') }).problems).toEqual([
    'page.md:1  "is to be": say must be, or will be',
    'page.md:2  "were not to be": say must be, or will be',
    'page.md:3  "Such a one": name it',
    'page.md:4  "mends": say fix, or repair',
    'page.md:5  "hears of": say hears from, or is told about',
    'page.md:6  "belongs into": say belongs in',
    'page.md:6  "get to know": say is told, or sees',
    'page.md:6  "anew": say again',
  ])
})

it('finds what this service called things before it used the words of its field', () => {
  const text = [
    'It judges a token.',
    'They retry patiently.',
    'A lane of an endpoint.',
    'The desk of a page.',
  ]
  expect(check({ 'page.md': text.join('\n') }).problems).toEqual([
    'page.md:1  "judges": say check, or decide',
    'page.md:2  "patiently": say retries, or slowly',
    'page.md:3  "lane": say endpoint limiter, or permit',
    'page.md:4  "desk": say request context',
  ])
})

it('finds British spelling, in names and texts of code too, and the variants that we do not use', () => {
  const text = ['const wantsColour = normaliseEmail(x)', "it('is canceled for ever', run)"]
  expect(check({ 'code.ts': text.join('\n') }).problems).toEqual([
    'code.ts:1  "Colour": color',
    'code.ts:1  "normalise": …ize',
    'code.ts:2  "canceled": cancelled',
    'code.ts:2  "for ever": forever',
  ])
})

it('accepts good English, and what is quoted, code or a migration', () => {
  const files = {
    'page.md': `There is no row, it is no longer there, and one is no faster.\nNot \`${FAULT}\` and not "${FAULT}"`,
    'code.ts': `const text = '${FAULT}'`,
    'infra/databases.sql': `select '${FAULT}';`,
    'apps/auth/migrations/1_users.sql': `-- ${FAULT}`,
  }
  expect(check(files)).toEqual({ status: 0, problems: [] })
})

it('reads the subjects of commits that are not pushed yet', () => {
  folder = aRepository({ 'page.md': 'one' })
  git(folder, 'commit', '--quiet', '-m', 'Pushed: this is no row')
  git(folder, 'update-ref', 'refs/remotes/origin/main', 'HEAD')
  addFiles(folder, { 'page.md': 'two' })
  git(folder, 'commit', '--quiet', '-m', 'Here: this is no row')
  expect(checked('words.mjs', folder).problems).toEqual([`commit "Here: this is no row"  ${FOUND}`])
})
