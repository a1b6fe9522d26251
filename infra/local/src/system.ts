import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { findPrograms } from './programs.js'

/** What decides how a server is installed here. */
export interface System {
  platform: NodeJS.Platform
  /** ID and ID_LIKE of /etc/os-release, the nearest first; empty elsewhere. */
  distributions: readonly string[]
  isRoot: boolean
  env: NodeJS.ProcessEnv
}

type Server = 'redis' | 'postgresql'
type Installer = Readonly<{ command: string } & Record<Server, string>>

const OS_RELEASE = '/etc/os-release'

/** By distribution. openSUSE calls itself opensuse-leap or opensuse-tumbleweed, and is like suse. */
const INSTALLERS: Readonly<Record<string, Installer>> = {
  alpine: { command: 'apk add', redis: 'valkey', postgresql: 'postgresql17' },
  arch: { command: 'pacman -S', redis: 'valkey', postgresql: 'postgresql' },
  debian: { command: 'apt-get install', redis: 'redis-server', postgresql: 'postgresql' },
  fedora: { command: 'dnf install', redis: 'valkey', postgresql: 'postgresql-server' },
  nixos: { command: 'nix-shell -p', redis: 'valkey', postgresql: 'postgresql' },
  rhel: { command: 'dnf install', redis: 'redis', postgresql: 'postgresql-server' },
  suse: { command: 'zypper install', redis: 'valkey', postgresql: 'postgresql-server' },
  ubuntu: { command: 'apt-get install', redis: 'redis-server', postgresql: 'postgresql' },
}
const HOMEBREW = { redis: 'brew install valkey', postgresql: 'brew install postgresql@17' }
const MACPORTS = { redis: 'port install redis', postgresql: 'port install postgresql17-server' }

export const thisSystem = (env: NodeJS.ProcessEnv = process.env): System => ({
  platform: process.platform,
  distributions: existsSync(OS_RELEASE) ? distributionsIn(readFileSync(OS_RELEASE, 'utf8')) : [],
  isRoot: process.getuid?.() === 0,
  env,
})

export function distributionsIn(text: string): string[] {
  const { ID = '', ID_LIKE = '' } = parseEnv(text)
  return `${ID} ${ID_LIKE}`.split(/\s+/).filter(Boolean)
}

/** The one command that installs a server on this very system; null where we know none. */
export function installCommand(
  { platform, distributions, isRoot, env }: System,
  server: Server,
): string | null {
  if (platform === 'win32') return 'wsl --install, and the same command in the Linux that it brings'
  if (platform === 'darwin') {
    if (findPrograms(['brew'], env['PATH'], ['/opt/homebrew/bin', '/usr/local/bin']).length > 0)
      return HOMEBREW[server]
    if (findPrograms(['port'], env['PATH'], ['/opt/local/bin']).length > 0) return `sudo ${MACPORTS[server]}`
    return `${HOMEBREW[server]}, with Homebrew from https://brew.sh`
  }
  const known = distributions.find((id) => id in INSTALLERS)
  if (known === undefined) return null
  const asRoot = isRoot || known === 'nixos' ? '' : known === 'alpine' ? 'doas ' : 'sudo '
  return `${asRoot}${INSTALLERS[known]?.command} ${INSTALLERS[known]?.[server]}`
}

/** For the error where there is none: what was tried, and the ways out. */
export function noServer(
  system: System,
  { server, name, tried, or }: { server: Server; name: string; tried: readonly string[]; or: string },
): Error {
  const command = installCommand(system, server) ?? `install ${name} with what this system has for it`
  return new Error(
    [
      `No ${name} was found or fetched.`,
      ...tried.map((line, index) => `  ${index === 0 ? 'tried:' : '      '} ${line}`),
      `  Fix: ${command}`,
      `       or set ${or}.`,
    ].join('\n'),
  )
}
