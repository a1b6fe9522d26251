import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
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
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { findPrograms } from '../programs.js'
import { inRedis, startRedis } from '../redis.js'
import { findRedis, IMAGE, WAYS } from './ways.js'

// Not every machine has a container engine, so programs with the same name, arguments and results stand in for them. Debian's
// package manager is the real one, where it is installed, with a repository that the test makes.

let folder: string
let bin: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-ways-'))
  bin = join(folder, 'bin')
  mkdirSync(bin)
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

function program(path: string, script: string): string {
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return path
}

const server = (path: string, version = 'Valkey server v=8.1.4 sha=00000000:0 bits=64') =>
  program(path, `echo '${version}'`)

/** Links programs of this machine that the doubles and the code under test need. */
function lend(...names: string[]): void {
  for (const name of names)
    symlinkSync(findPrograms([name], process.env['PATH'], ['/usr/bin', '/bin'])[0] ?? '', join(bin, name))
}

const find = (options: Parameters<typeof findRedis>[0] = {}) =>
  findRedis({
    env: { PATH: bin },
    usualFolders: [],
    cacheDir: join(folder, 'cache'),
    say: () => {},
    ...options,
  })

const unpacked = () => ({
  command: join(folder, 'cache/usr/bin/valkey-server'),
  title: 'Valkey 8.1.4',
  env: { LD_LIBRARY_PATH: join(folder, 'cache/usr/lib/riscv64-linux-gnu') },
})

describe('a program that is there', () => {
  it('named by REDIS_SERVER_BIN is taken before everything else', async () => {
    server(join(bin, 'redis-server'))
    const own = server(join(folder, 'own'), 'Redis server v=7.4.2 sha=00000000:0')
    expect(await find({ env: { PATH: bin, REDIS_SERVER_BIN: own } })).toEqual({
      command: own,
      env: {},
      title: 'Redis 7.4.2',
    })
  })

  it.each([
    ['echo "Redis server v=6.0.16 sha=0"', 'is version 6.0.16, and 6.2 or newer is needed'],
    ['echo hello', 'is neither Redis nor Valkey'],
    ['echo "no libcrypto" >&2; exit 127', 'does not run: no libcrypto'],
  ])('named by REDIS_SERVER_BIN and unfit (%s) is not replaced by another', async (script, reason) => {
    server(join(bin, 'redis-server'))
    const own = program(join(folder, 'own'), script)
    await expect(find({ env: { PATH: bin, REDIS_SERVER_BIN: own } })).rejects.toThrow(reason)
  })

  it.each(['redis-server', 'valkey-server'])('on the PATH is found as %s', async (name) => {
    const command = server(join(bin, name))
    expect((await find()).command).toBe(command)
  })

  it('that is too old gives way to a newer one further on', async () => {
    server(join(bin, 'redis-server'), 'Redis server v=5.0.3 sha=00000000:0')
    const further = join(folder, 'homebrew')
    mkdirSync(further)
    const newer = server(join(further, 'valkey-server'))
    expect((await find({ usualFolders: [further] })).command).toBe(newer)
  })
})

describe("a distribution's package", () => {
  const whereAptIs = spawnSync('apt-get', ['--version']).status === 0 ? it : it.skip

  whereAptIs('comes with apt-get, without root, from the repositories that are set up', async () => {
    const repository = debianRepository()
    lend('apt-get', 'dpkg-deb', 'dpkg', 'tar', 'sh')
    const env = { PATH: `${bin}:/usr/bin:/bin`, APT_CONFIG: repository }
    const said: string[] = []
    const found = await find({
      env,
      ways: WAYS.filter(([name]) => name === 'apt-get'),
      say: (text) => said.push(text),
    })
    expect(found).toMatchObject({ title: 'Redis 7.9.9', command: join(folder, 'cache/usr/bin/redis-server') })
    expect(said[0]).toContain('with apt-get (nothing is installed in the system)')
    expect(readdirSync(join(folder, 'cache')).sort()).toEqual(['usr'])
  })

  it('that was unpacked earlier is found without asking anybody', async () => {
    for (const name of ['bin', 'lib/riscv64-linux-gnu', 'lib/python3'])
      mkdirSync(join(folder, 'cache/usr', name), { recursive: true })
    server(join(folder, 'cache/usr/bin/valkey-server'))
    program(join(bin, 'apt-get'), `touch ${join(folder, 'asked')}; exit 1`)
    expect(await find()).toEqual(unpacked())
    expect(existsSync(join(folder, 'asked'))).toBe(false)
  })

  /** Makes a repository, and returns an apt.conf that knows no other one. */
  function debianRepository(): string {
    const root = join(folder, 'deb')
    mkdirSync(join(root, 'DEBIAN'), { recursive: true })
    mkdirSync(join(root, 'usr/bin'), { recursive: true })
    server(join(root, 'usr/bin/redis-server'), 'Redis server v=7.9.9 sha=00000000:0')
    const control =
      'Package: redis-server\nVersion: 99:7.9.9\nArchitecture: all\nMaintainer: A Test <a@example.test>\n'
    writeFileSync(join(root, 'DEBIAN/control'), `${control}Description: a server\n`)
    const repository = join(folder, 'repository')
    mkdirSync(repository)
    execFileSync('dpkg-deb', ['--root-owner-group', '--build', root, join(repository, 'redis.deb')])
    const deb = readFileSync(join(repository, 'redis.deb'))
    const hash = createHash('sha256').update(deb).digest('hex')
    const place = `Filename: ./redis.deb\nSize: ${deb.length}\nSHA256: ${hash}\nDescription: a server\n`
    writeFileSync(join(repository, 'Packages'), control + place)
    const sources = join(folder, 'sources.list')
    writeFileSync(sources, `deb [trusted=yes] file:${repository} ./\n`)
    const config = join(folder, 'apt.conf')
    writeFileSync(config, `Dir::Etc::sourcelist "${sources}";\nDir::Etc::sourceparts "-";\n`)
    return config
  }
})

describe('a container engine', () => {
  it.each(['docker', 'podman', 'nerdctl'])('that runs is taken last: %s', async (engine) => {
    const asked = join(folder, 'asked')
    const command = program(
      join(bin, engine),
      `echo "$*" >> ${asked}
      case "$1" in image) exit 1;; esac`,
    )
    expect(await find()).toMatchObject({ command, title: `Valkey in a container of ${engine}` })
    expect(readFileSync(asked, 'utf8').split('\n')).toEqual([
      'info',
      `image inspect ${IMAGE}`,
      `pull --quiet ${IMAGE}`,
      '',
    ])
  })

  it('that does not run is named with what it says', async () => {
    program(join(bin, 'docker'), 'echo "Cannot connect to the Docker daemon" >&2; exit 1')
    await expect(find()).rejects.toThrow('docker: does not run: Cannot connect to the Docker daemon')
  })

  it.each(['stopped', 'killed'] as const)(
    'runs a server on a loopback port, and nothing stays after it was %s',
    async (how) => {
      await engineOfProcesses()
      const server = await startRedis({ dir: folder, program: await find() })
      await inRedis(server.url, (client) => client.set('a', '1'))
      const published = `--publish 127.0.0.1:${server.port}:${server.port}`
      expect(readFileSync(join(folder, 'run'), 'utf8')).toContain(published)
      expect(readdirSync(join(folder, 'containers'))).toHaveLength(1)
      await (how === 'stopped' ? server.stop() : server.kill('SIGKILL'))
      expect(readdirSync(join(folder, 'containers'))).toEqual([])
    },
  )

  /** An engine whose containers are processes of the installed server. Each has a file with its process id while it runs. */
  async function engineOfProcesses(): Promise<void> {
    const containers = join(folder, 'containers')
    mkdirSync(containers)
    const { command, env } = await findRedis({ ways: WAYS.slice(0, 2) })
    const exported = Object.entries(env).map(([name, value]) => `export ${name}='${value}'`)
    program(
      join(bin, 'docker'),
      `verb=$1; shift
      case $verb in
      run)
        echo "$*" > ${join(folder, 'run')}
        file=${containers}/$3
        shift 7
        ${exported.join('\n')}
        ${command} "$@" --bind 127.0.0.1 & pid=$!
        trap 'kill $pid' TERM
        echo $pid > $file
        wait $pid; code=$?
        while kill -0 $pid 2>/dev/null; do wait $pid; code=$?; done
        rm -f $file
        exit $code;;
      kill) kill -\${2#SIG} "$(cat ${containers}/$3)";;
      esac`,
    )
  }
})

describe('where nothing leads to a server', () => {
  it('one error names all that was tried, and the ways out', async () => {
    lend('mkdir')
    program(join(bin, 'apt-get'), 'echo "E: Failed to fetch" >&2; exit 100')
    const failure: unknown = await find().catch((error: unknown) => error)
    const text = String(failure)
    for (const part of [
      'PATH and usual folders: no redis-server, no valkey-server',
      'apt-get: E: Failed to fetch',
      'docker: not here',
      'podman: not here',
      'nerdctl: not here',
      'Install Redis or Valkey with',
      'REDIS_SERVER_BIN',
      'REDIS_URL',
    ])
      expect(text).toContain(part)
  })
})
