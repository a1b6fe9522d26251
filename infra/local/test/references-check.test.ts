import { rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { aRepository, addFiles, checked } from './support/repository.js'

const RECORD = 'decision 0001'
const NO_RECORD = 'decision 0002'

let folder: string
beforeEach(() => {
  folder = aRepository({
    'infra/decisions/0001-title.md': '# 0001 Title\n',
    'infra/decisions/README.md': '[Title](0001-title.md)\n',
    'apps/auth/README.md': '| Folder of `src` | What |\n| - | - |\n| `users` | People |\n\n',
    'apps/auth/docs/specification.md': '# Auth\n\n## Sign in\n',
    'apps/auth/src/users/user.ts': `// Why: ${RECORD}\n`,
    'apps/auth/test/users.test.ts': '',
  })
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function check(files: Readonly<Record<string, string>>) {
  addFiles(folder, files)
  return checked('references.mjs', folder)
}

it('accepts what a reader can follow', () => {
  const text = `See apps/auth/docs/specification.md#sign-in, docs/specification.md, ${RECORD} and users.test.ts.`
  const link = '[Sign in](docs/specification.md#sign-in)'
  expect(check({ 'apps/auth/auth.env': text, 'apps/auth/page.md': link })).toEqual({
    status: 0,
    problems: [],
  })
})

it('reads text of every kind', () => {
  const endings =
    'conf env go hcl json md mjs mts php pml py rb rs sh sql toml ts yaml yml .env.example /Dockerfile'
  const paths = endings.split(' ').map((ending) => (/^\W/.test(ending) ? `a${ending}` : `a.${ending}`))
  const { status, problems } = check(Object.fromEntries(paths.map((path) => [path, `// ${NO_RECORD}`])))
  expect(status).toBe(1)
  expect(problems.sort()).toEqual(paths.map((path) => `${path}:1  ${NO_RECORD} leads to no record`).sort())
})

it('finds references to what is not there', () => {
  const comments = [
    'docs/nothing.md',
    'apps/auth/docs/specification.md#nothing',
    'as nothing.test.ts shows',
    'row 3 of the contract',
  ]
  const links = ['[Nothing](nothing.md)', '[Nothing](docs/specification.md#nothing)']
  const { problems } = check({
    'apps/auth/code.ts': comments.map((text) => `// ${text}`).join('\n'),
    'apps/auth/page.md': links.join('\n'),
  })
  expect(problems).toEqual([
    'apps/auth/code.ts:1  docs/nothing.md leads nowhere',
    'apps/auth/code.ts:2  apps/auth/docs/specification.md#nothing leads nowhere',
    'apps/auth/code.ts:3  there is no nothing.test.ts',
    expect.stringContaining('apps/auth/code.ts:4  cites a document that is not here: '),
    'apps/auth/page.md:1  the link to nothing.md leads nowhere',
    'apps/auth/page.md:2  docs/specification.md#nothing leads nowhere',
    'apps/auth/page.md:2  apps/auth/docs/specification.md has no section #nothing',
  ])
})

it('refuses a link to a folder without a README, which is not a page of the site', () => {
  const pages = {
    'apps/auth/page.md': '[Sources](src)',
    'page.md': '[Auth](apps/auth), [sources](apps/auth/src)',
  }
  const ofTheHost = { '.github/CONTRIBUTING.md': '[Sources](../apps/auth/src)' }
  expect(check({ ...pages, ...ofTheHost }).problems).toEqual([
    'apps/auth/page.md:1  the link to src leads to a folder without a README',
    'page.md:1  the link to apps/auth/src leads to a folder without a README',
  ])
})

it('wants every record cited and in the index, and every folder of sources in the README of its app', () => {
  const { problems } = check({
    'infra/decisions/0003-other.md': '# 0003 Other\n',
    'apps/auth/src/keys/key.ts': '',
  })
  expect(problems).toEqual([
    'infra/decisions/0003-other.md  is cited nowhere: name it in a comment where a reader would ask',
    'infra/decisions/README.md  does not list 0003-other.md as [Other](0003-other.md)',
    'apps/auth/README.md  must name the folder keys of src once, if there is one',
  ])
})

it('wants every package, and every folder of infra, in the tables of the overview', () => {
  const overview =
    '| Folder of `packages` | What |\n| - | - |\n| `db`, `gone` | SQL |\n\n| Folder of `infra` | What |\n| - | - |\n'
  const { problems } = check({
    'infra/site/overview.md': `${overview}| \`decisions\` | Why |\n`,
    'packages/db/package.json': '',
    'packages/http/package.json': '',
  })
  expect(
    problems.map((problem) => problem.replace('infra/site/overview.md  must name the folder ', '')),
  ).toEqual([
    'http of packages once, if there is one',
    'gone of packages once, if there is one',
    'site of infra once, if there is one',
  ])
})
