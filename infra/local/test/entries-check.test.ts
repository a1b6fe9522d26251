import { rmSync } from 'node:fs'
import { afterEach, expect, it } from '@jest/globals'
import { aRepository, checked } from './support/repository.js'

let folder: string
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function check(files: Readonly<Record<string, string>>) {
  folder = aRepository(files)
  return checked('entries.mjs', folder)
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `name${i}`)
const constants = (count: number) => names(count).map((name) => `export const ${name} = 1\n`)
const manifest = JSON.stringify({ exports: { '.': { '@signet/source': './src/start.ts' } } })

it('accepts names of other files, 40 in a barrel, more in a file of its own, and a default export for a tool', () => {
  const files = {
    'infra/x/package.json': manifest,
    'infra/x/src/start.ts': `export { ${names(40).join(', ')} } from './many.js'`,
    'infra/x/src/many.ts': constants(41).join(''),
    'infra/x/theme.js': "export { default } from 'theme'",
  }
  expect(check(files)).toEqual({ status: 0, problems: [] })
})

it('refuses names of another package, wherever they are passed on', () => {
  const files = {
    'apps/x/test/support/page.ts': "export { Page, type Seen } from '@signet/testkit'",
    'infra/x/one.mjs': "import { join as path } from 'node:path'\nexport { path }",
    'infra/x/two.ts': "import * as pg from 'pg'\nexport { pg as database }",
    'packages/x/src/three.ts': "export * as four from 'pg'",
  }
  expect(check(files).problems).toEqual([
    'apps/x/test/support/page.ts  re-exports @signet/testkit',
    'infra/x/one.mjs  re-exports node:path',
    'infra/x/two.ts  re-exports pg',
    'packages/x/src/three.ts  re-exports pg',
    'packages/x/src/three.ts  exports everything of pg: name what it exports',
  ])
})

it('refuses everything of a file, and more than 40 names in an entry file or another barrel', () => {
  const many = `export { ${names(41).join(', ')} } from './many.js'`
  const files = {
    'infra/x/package.json': manifest,
    'infra/x/src/all.ts': "export * from './many.js'",
    'infra/x/src/barrel.ts': many,
    'infra/x/src/start.ts': constants(41).join(''),
  }
  expect(check(files).problems).toEqual([
    'infra/x/src/all.ts  exports everything of ./many.js: name what it exports',
    'infra/x/src/barrel.ts  exports 41 names, more than 40',
    'infra/x/src/start.ts  exports 41 names, more than 40',
  ])
})
