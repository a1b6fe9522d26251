import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { createInstallation, NO_MAIL_SERVER } from './support/process.js'

const installation = await createInstallation(NO_MAIL_SERVER)
afterAll(() => installation.close())

const moduleOf = (source: string) => `data:text/javascript,${encodeURIComponent(source)}`

/** Loader hooks that write a file when the service's process loads the module that sends emails. */
const HOOKS = `
  import { writeFileSync } from 'node:fs'
  export function resolve(name, context, next) {
    if (name === 'nodemailer') writeFileSync('mail-is-loaded', '')
    return next(name, context)
  }`
const WATCH = `import { register } from 'node:module'; register(${JSON.stringify(moduleOf(HOOKS))})`

it('loads what sends emails before any request needs it, which only those about an account do', async () => {
  await installation.start({}, ['--import', moduleOf(WATCH)])
  expect(await waitFor(() => existsSync(join(installation.folder, 'mail-is-loaded')))).toBe(true)
})
