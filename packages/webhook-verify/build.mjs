// Builds what is published: ES modules in dist/, and the same as CommonJS in dist/commonjs/ for programs and test runners that cannot
// load ES modules with require. npm runs this before it packs, so that nobody can pack the package without its programs
// (decision 0064).
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = import.meta.dirname
const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript-7/package.json')))

const compile = (...args) =>
  execFileSync(process.execPath, [compiler, ...args], { cwd: folder, stdio: 'inherit' })

compile('--build', 'tsconfig.build.json')
compile('--project', 'tsconfig.commonjs.json')
writeFileSync(join(folder, 'dist/commonjs/package.json'), '{ "type": "commonjs" }\n')
