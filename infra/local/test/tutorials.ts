import { execFile, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { succeeds } from '@signet/testkit/programs'
import { chromiumPath, launchChromium } from '@signet/testkit/chromium'
import { leaseNextPort } from '../src/ports.js'
import { waitUntil } from '../src/wait-until.js'
import { codeBlocks } from './support/code-blocks.js'
import { repository, type RunningStack } from './support/running-stack.js'
import { type PrintedLine, terminalPicture } from './support/terminal-picture.js'

// Runs the commands of the README, of the page with more requests, and of the tutorials of infra/site, exactly as printed there,
// against the services that `npm start` runs.

const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const whereCurlIs = succeeds('curl', ['--version']) ? it : it.skip
/** macOS has zsh, which does not split the values of variables into words. */
const shells = ['sh', 'zsh'].map((name) => ({
  name,
  itRuns: succeeds(name, ['-c', 'command -v curl']) ? it : it.skip,
}))
const inBrowser = chromiumPath() === null ? it.skip : it

let stack: RunningStack
const end = new AbortController()

/** Runs the tests against services that the caller starts before any test. */
export function describeTutorials(running: () => RunningStack): void {
  beforeAll(() => {
    stack = running()
  })
  afterAll(() => end.abort())
  describe.each(shells)('the first requests, in $name', firstRequests)
  describe('the README', readme)
  describe('the tutorials', tutorials)
}

/** Runs all commands of a page with a new home folder and a free port, and returns what the shell prints. */
async function runAll(page: string, shell = 'sh'): Promise<{ stdout: string; stderr: string }> {
  const env = {
    PATH: process.env['PATH'],
    HOME: mkdtempSync(join(stack.folder, 'home-')),
    SIGNET_CREDENTIAL_STORE: 'file',
    PORT: String(await leaseNextPort(20_000)),
  }
  const options = { cwd: stack.folder, signal: end.signal, env }
  return promisify(execFile)(shell, ['-euc', codeBlocks(page, 'sh').join('\n')], options)
}

function firstRequests({ name: shell, itRuns }: (typeof shells)[number]): void {
  itRuns('of the README end on a delivery that arrived and was verified', async () => {
    const [, firstRequest = ''] = /## First request\n([^]*?)\n## /.exec(read('README.md')) ?? []
    const [ending = 'nothing promised'] = codeBlocks(firstRequest, 'text')
    expect((await runAll(firstRequest, shell)).stdout.endsWith(ending)).toBe(true)
  })

  itRuns('with curl lead to the same, and to the dispatcher', async () => {
    const page = read('infra/site/first-requests.md')
    const [ending = 'nothing promised'] = codeBlocks(page, 'text')
    const { stdout, stderr } = await runAll(page, shell)
    expect(stderr).toBe('')
    expect(stdout).toContain(ending)
    expect(stdout.slice(stdout.indexOf(ending))).toMatch(/"status":"ready"[^]*signet_delivery_attempts_total/)
  })
}

function readme(): void {
  it('fits on a screen or two', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(81)
  })
}

function tutorials(): void {
  const tutorial = (name: string): string => read(`infra/site/tutorials/${name}.md`)

  /** Saves the files of a page under the names in their first lines. */
  function save(page: string): void {
    for (const text of [...codeBlocks(page, 'js'), ...codeBlocks(page, 'html')]) {
      const name = /^(?:\/\/|<!--) (\S+)/.exec(text)?.[1] ?? ''
      mkdirSync(dirname(join(stack.folder, name)), { recursive: true })
      writeFileSync(join(stack.folder, name), text)
    }
  }

  const PICTURE = join(repository, 'infra/site/images/listen.svg')
  const MAX_PICTURE_BYTES = 300_000

  /** Follows a file into which a command prints, and notes when each line appears. */
  function readAlong(name: string, typed: string): { stop(): PrintedLine[] } {
    rmSync(join(stack.folder, name), { force: true }) // the file of another page
    const lines: PrintedLine[] = [{ text: `$ ${typed}`, atMs: 0 }]
    let startedAt: number | undefined
    const look = (): void => {
      const file = join(stack.folder, name)
      if (!existsSync(file)) return
      startedAt ??= performance.now() - 1000
      const atMs = Math.round(performance.now() - startedAt)
      const complete = readFileSync(file, 'utf8').split('\n').slice(0, -1)
      lines.push(...complete.slice(lines.length - 1).map((text) => ({ text, atMs })))
    }
    const timer = setInterval(look, 50)
    return {
      stop() {
        clearInterval(timer)
        return lines
      },
    }
  }

  async function runsAsPrinted(name: string, shell = 'sh'): Promise<void> {
    const page = tutorial(name)
    save(page)
    const { stdout } = await runAll(page, shell)
    const promised = codeBlocks(page, 'text').flatMap((text) => text.trim().split('\n'))
    expect(promised.length).toBeGreaterThan(2)
    expect(stdout.split('\n').filter((line) => promised.includes(line))).toEqual(promised)
  }

  for (const { name, itRuns } of shells)
    itRuns(
      `receive: the commands print what the page says, in ${name}, and leave no file behind`,
      async () => {
        const files = () => readdirSync(stack.folder).filter((file) => !file.startsWith('home-'))
        const before = files()
        await runsAsPrinted('receive', name)
        expect(files()).toEqual(before)
      },
    )

  /** README_PICTURES=1 replaces the picture of the page. */
  whereCurlIs(
    'publish: the commands print what the page says, and the terminal what its picture shows',
    async () => {
      const terminal = readAlong('listen.log', 'signet listen --create --count 1')
      await runsAsPrinted('publish').finally(() => terminal.stop())
      const picture = terminalPicture(terminal.stop())
      expect(picture).toContain('✓ verified</tspan>  summary.completed')
      expect(picture.length).toBeLessThan(MAX_PICTURE_BYTES)
      if (process.env['README_PICTURES']) writeFileSync(PICTURE, picture)
    },
  )

  for (const { name, itRuns } of shells.filter(({ name }) => name !== 'sh'))
    itRuns(`publish: the commands print what the page says, in ${name}`, () => runsAsPrinted('publish', name))

  inBrowser(
    'sign-in: a person creates an account, and the page knows who that is, until they sign out',
    async () => {
      const page = tutorial('sign-in')
      save(page)
      const [prepare = '', install = '', serve = ''] = codeBlocks(page, 'sh')
      linkPackages(install)
      const app = spawn('sh', ['-euc', `${prepare}\nexec ${serve.replace('npx ', 'node_modules/.bin/')}`], {
        cwd: stack.folder,
        signal: end.signal,
      })
      app.on('error', () => {}) // `end` aborts the process
      let printed = ''
      for (const stream of [app.stdout, app.stderr])
        stream.on('data', (chunk: Buffer) => (printed += chunk.toString()))
      const address = await waitUntil(() => /Local: +(http:\S+)/.exec(printed)?.[1], {
        describe: 'the address of the page',
        seen: () => printed,
      })
      await signUpAndOut(address)
    },
  )

  /** Links the packages of this repository, which have the versions that the page installs, so that nothing is fetched. */
  function linkPackages(install: string): void {
    const fromAuth = createRequire(join(repository, 'apps/auth/package.json'))
    const fromCli = createRequire(join(repository, 'packages/cli/package.json'))
    const modules = join(stack.folder, 'my-app/node_modules')
    for (const [name, require] of [
      ['@supabase/auth-js', fromAuth],
      ['esbuild', fromCli],
    ] as const) {
      const folder = dirname(require.resolve(`${name}/package.json`))
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        version: string
      }
      expect(install).toContain(` ${name}@${version}`)
      mkdirSync(dirname(join(modules, name)), { recursive: true })
      symlinkSync(folder, join(modules, name))
      if (name !== 'esbuild') continue
      mkdirSync(join(modules, '.bin'))
      symlinkSync(join(folder, 'bin/esbuild'), join(modules, '.bin/esbuild'))
    }
  }

  async function signUpAndOut(address: string): Promise<void> {
    const email = 'web-app@tutorials.test'
    const browser = await launchChromium()
    try {
      const page = await browser.newPage()
      await page.goto(address)
      await page.waitForSelector('text=Nobody is signed in')
      await page.click('#sign-in')
      await page.click('text=Create an account')
      await page.fill('[name=identifier]', email)
      await page.fill('[name=password]', 'correct horse battery')
      await page.click('button:text-is("Create account")')
      await page.waitForSelector('text=Check your email')
      await page.goto(await linkTo(email))
      await page.click('button:text-is("Continue")')
      await page.waitForSelector(`text=Signed in as ${email}`)
      expect(page.url()).toBe(address)
      await page.reload()
      await page.waitForSelector(`text=Signed in as ${email}`)
      await page.click('#sign-out')
      await page.waitForSelector('text=Nobody is signed in')
    } finally {
      await browser.close()
    }
  }

  const linkTo = (email: string): Promise<string> =>
    waitUntil(
      async () => {
        const answer = await fetch(`${stack.world.inbox}/api/messages?to=${email}`)
        const { items } = (await answer.json()) as { items: { text: string }[] }
        return /http\S+verify\S+/.exec(items[0]?.text ?? '')?.[0]
      },
      { describe: `the email to ${email}` },
    )
}
