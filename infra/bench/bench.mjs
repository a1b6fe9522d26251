// `npm run bench`, `npm run bench -- <name>` and `npm run chaos`: builds everything and runs a bench with its own PostgreSQL and Redis.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { bootstrapOrExit, root } from '../local/bootstrap.mjs'
import { run, tool } from '../checks/run.mjs'

const PROGRAMS = {
  auth: 'apps/auth/bench/auth.ts',
  common: 'apps/auth/bench/common.ts',
  oauth: 'apps/webhooks/bench/oauth.ts',
  paging: 'apps/webhooks/bench/paging.ts',
  dispatch: 'apps/dispatcher/bench/dispatch.ts',
  pipeline: 'apps/dispatcher/bench/whole-way/whole-way.ts',
  soak: 'apps/dispatcher/bench/whole-way/soak.ts',
  chaos: 'apps/dispatcher/chaos/run.ts',
}
const USAGE = `npm run bench                          the whole way and the identity server's common requests, written as a page
npm run bench -- quick [out=<folder>]  the same with hardly any load, to see that it works
npm run bench -- <name> [arguments]    one of ${Object.keys(PROGRAMS).join(', ')}
npm run bench -- <name> --help         its parts and arguments

For the page: rounds=3, scale=1 (of how many events), out=infra/site, peer=<module>, authority=<folder> and auth-peer=<name>=<url>[,<process id>]
(infra/site/peers.md)`
const NODE = ['--import', 'tsx', '--conditions=@signet/source']
/** Settings of "quick": enough to see that every part works. Its numbers mean nothing. */
const QUICK = {
  rounds: '1',
  scale: 0.02,
  pipeline: ['only=burst'],
  common: ['seconds=0.2', 'accounts=200'],
}
/**
 * Settings for the page of results. The memory of a service after a long run, and bodies of a megabyte, are on the page of the
 * dispatcher's bench.
 */
const PAGE = {
  rounds: '3',
  scale: 1,
  pipeline: ['only=burst|steady (200|500)/s|1 event|100 KiB'],
  common: [],
}

const PAGE_ARGUMENT = /^(quick$|(rounds|scale|out|peer|authority|auth-peer)=)/

const [name, ...args] = process.argv.slice(2)
const isPage = name === undefined || name === 'quick' || /^[\w-]+=/.test(name)
const asksForHelp = process.argv.includes('--help')
if (!asksForHelp) {
  const isKnown = isPage || Object.hasOwn(PROGRAMS, name)
  const unknown = isKnown ? unknownArgument() : name
  if (unknown !== undefined) {
    const usage = isKnown && !isPage ? commentOf(PROGRAMS[name]) : USAGE
    console.error(`no such ${isKnown ? 'argument' : 'bench'}: ${unknown}\n\n${usage}`)
    process.exit(2)
  }
}
if (asksForHelp) {
  const program = Object.hasOwn(PROGRAMS, name ?? '') ? PROGRAMS[name] : undefined
  console.log(program === undefined ? USAGE : commentOf(program))
  process.exit(program === undefined ? 0 : await listCases(program))
}

const apps = ['auth', 'webhooks', 'dispatcher'].map((app) => `apps/${app}/tsconfig.build.json`)
await bootstrapOrExit({
  projects: ['infra/local/tsconfig.build.json', 'infra/bench/tsconfig.build.json', ...apps],
})
const { startPostgres, startRedis } = await import('../local/dist/index.js')

// Ctrl-C also reaches the program. This process waits for it to end, so that the servers stop and their data is deleted.
process.on('SIGINT', () => {})
const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'))
chmodSync(folder, 0o711) // as root, the server runs under another account, which must be able to enter
// Durable, as in production: a bench with fsync off would measure something that nobody runs.
const postgres = await startPostgres({ dataDir: join(folder, 'postgres') })
const redis = await startRedis({ dir: join(folder, 'redis'), appendOnly: true })
const env = { ...process.env, DATABASE_URL: postgres.url('postgres'), REDIS_URL: redis.url }
try {
  process.exitCode = isPage ? await writePage(process.argv.slice(2)) : await runOne(PROGRAMS[name], args)
} finally {
  await redis.stop()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** The first argument that the page, or the description of the program, does not name. The chaos suite checks its own. */
function unknownArgument() {
  if (isPage) return process.argv.slice(2).find((word) => !PAGE_ARGUMENT.test(word))
  if (name === 'chaos') return undefined
  const comment = commentOf(PROGRAMS[name]).replaceAll('\n', ' ')
  const parts = /\bParts: ([^;]*);/.exec(comment)?.[1].split(', ') ?? []
  const options = [...comment.matchAll(/[\w-]+=|--[\w-]+|(?<=`)list(?=`)/g)].map(([option]) => option)
  const named = new Set([...parts, ...options])
  const isValue = (index) => args[index - 1]?.startsWith('--')
  return args.find((word, index) => !isValue(index) && !named.has(/^[\w-]+=/.exec(word)?.[0] ?? word))
}

/** The description of a program and its arguments, from the comment at its beginning. */
function commentOf(program) {
  const [comment] = /^(\/\/.*\n)+/.exec(readFileSync(join(root, program), 'utf8'))
  return comment.replaceAll(/^\/\/ ?/gm, '').trimEnd()
}

/** The cases of a program that can list them. */
async function listCases(program) {
  if (!commentOf(program).includes('`list`')) return 0
  await bootstrapOrExit({ projects: [] })
  return (await run(process.execPath, [...NODE, program, 'list'], { inherit: true })).code
}

/** Runs one program. Prints the commit and the machine first, so that the results show what they belong to. */
async function runOne(program, programArgs) {
  const { describeMachine } = await import('./dist/index.js')
  const databaseUrl = postgres.url('postgres')
  console.log(JSON.stringify({ machine: await describeMachine({ databaseUrl, redis: redis.title, root }) }))
  const { code } = await run(process.execPath, [...NODE, program, ...programArgs], { inherit: true, env })
  return code ?? 1
}

async function writePage(words) {
  const { describeMachine, isBusy, pageOf, readLine } = await import('./dist/index.js')
  const plan = words.includes('quick') ? QUICK : PAGE
  const option = (wanted, fallback) =>
    words.find((word) => word.startsWith(`${wanted}=`))?.slice(wanted.length + 1) ?? fallback
  const rounds = option('rounds', plan.rounds)
  const out = resolve(root, option('out', 'infra/site'))
  const scale = option('scale', plan.scale)
  const wasBusy = isBusy()
  const machine = await describeMachine({ databaseUrl: postgres.url('postgres'), redis: redis.title, root })
  const peers = words.filter((word) => /^(peer|authority)=/.test(word))
  const authPeers = words.flatMap((word) => /^auth-(peer=.*)/.exec(word)?.[1] ?? [])
  const pipeline = [`rounds=${rounds}`, `scale=${scale}`, ...plan.pipeline, ...peers]
  const common = [`rounds=${rounds}`, ...plan.common, ...authPeers]
  const printed = [await linesOf(PROGRAMS.pipeline, pipeline), await linesOf(PROGRAMS.common, common)]
  const lines = printed.flat().map(readLine)
  const measured = lines.flatMap((line) => line.measured ?? [])
  const settings = lines.flatMap((line) => line.setting ?? [])
  const results = { machine, wasBusy, rounds: Number(rounds), scale: Number(scale), measured, settings }
  const files = { 'measured.json': JSON.stringify(results, null, 2), ...pageOf(results) }
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(out, file)), { recursive: true })
    writeFileSync(join(out, file), content)
  }
  await run(process.execPath, [tool('oxfmt/bin/oxfmt'), join(out, 'measured.md'), join(out, 'measured.json')])
  console.log(`\n  ✓ ${join(out, 'measured.md')}`)
  return 0
}

/** The lines that a program prints, which are also shown while it runs. */
async function linesOf(program, programArgs) {
  const options = { env, show: true, inheritErrors: true }
  const { ok, code, output } = await run(process.execPath, [...NODE, program, ...programArgs], options)
  if (!ok) throw new Error(`${program} ended with ${code}`)
  return output.split('\n')
}
