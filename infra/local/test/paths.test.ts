import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

const test = fileURLToPath(new URL('../../checks/test.mjs', import.meta.url))
const run = (...words: string[]) => promisify(execFile)(process.execPath, [test, ...words])

it.each([
  [['packages/errors', 'packages/errors/src/gone.test.ts', 'packages/config'], 'gone.test.ts does not exist'],
  [['packages/gone'], 'packages/gone is not inside a folder of the workspace'],
])('npm test -- %j runs nothing and says which path is wrong', async (words, message) => {
  await expect(run(...words)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(message) })
})
