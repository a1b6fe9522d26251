import { rmSync } from 'node:fs'
import { afterEach, expect, it } from '@jest/globals'
import { aRepository, checked } from './support/repository.js'

let folder: string
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function check(files: Readonly<Record<string, string>>) {
  folder = aRepository(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`apps/auth/src/${path}`, text])),
  )
  return checked('folder-cycles.mjs', folder)
}

it('accepts folders that depend on each other in one direction', () => {
  const files = {
    'app.ts': "import { x } from './a/x.js'\nimport { y } from './b/y.js'\n",
    'a/x.ts': "import { y } from '../b/y.js'\nimport { w } from './w.js'\n",
    'a/w.ts': "import { read } from 'node:fs'\n",
    'b/y.ts': "export { z } from './deep/z.js'\n",
    'b/deep/z.ts': '',
  }
  expect(check(files)).toEqual({ status: 0, problems: [] })
})

it('finds two folders that import each other through different files', () => {
  const files = {
    'a/x.ts': "import { y } from '../b/y.js'\n",
    'a/w.ts': '',
    'b/y.ts': '',
    'b/z.ts': "import type { W } from '../a/w.js'\n",
  }
  expect(check(files)).toEqual({ status: 1, problems: ['apps/auth/src  a cycle of a, b'] })
})

it('finds them on every level, whatever the kind of import', () => {
  const files = {
    'deep/a/x.ts': "const y = await import('../b/y.js')\n",
    'deep/a/w.ts': '',
    'deep/b/y.ts': '',
    'deep/b/z.ts': "export {\n  w,\n} from '../a/w.js'\n",
  }
  expect(check(files).problems).toEqual(['apps/auth/src/deep  a cycle of a, b'])
})

it('finds a folder that imports a file beside it which imports the folder', () => {
  const files = {
    'app.ts': "import { a } from './x/a.js'\n",
    'ctx.ts': "import { a } from './x/a.js'\n",
    'x/a.ts': '',
    'x/b.ts': "import { ctx } from '../ctx.js'\n",
  }
  expect(check(files)).toEqual({ status: 1, problems: ['apps/auth/src  a cycle of ctx.ts, x'] })
})
