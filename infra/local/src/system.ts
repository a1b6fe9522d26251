import { existsSync, readFileSync } from 'node:fs'
import { findProgram } from './programs.js'

/** What decides how a server is installed here. */
export interface System {
  platform: NodeJS.Platform
  /** ID and ID_LIKE of /etc/os-release, the nearest first; empty elsewhere. */
  distributions: readonly string[]
  isRoot: boolean
  env: NodeJS.ProcessEnv
}

type Server = 'redis' | 'postgresql'
type Packages = Readonly<Record<Server, string>>

const OS_RELEASE = '/etc/os-release'
const VALKEY: Packages = { redis: 'valkey', postgresql: 'postgresql' }

/** By distribution: the command that installs, and the package of each server. */
const INSTALLERS: Readonly<Record<string, readonly [command: string, Packages]>> = {
  alpine: ['apk add', { redis: 'valkey', postgresql: 'postgresql17' }],
  arch: ['pacman -S', VALKEY],
  debian: ['apt-get install', { redis: 'redis-server', postgresql: 'postgresql' }],
  fedora: ['dnf install', { redis: 'valkey', postgresql: 'postgresql-server' }],
  rhel: ['dnf install', { redis: 'redis', postgresql: 'postgresql-server' }],
  suse: ['zypper install', { redis: 'valkey', postgresql: 'postgresql-server' }],
  ubuntu: ['apt-get install', { redis: 'redis-server', postgresql: 'postgresql' }],
}
const BREW: Packages = { redis: 'valkey', postgresql: 'postgresql@17' }
const MACPORTS: Packages = { redis: 'redis', postgresql: 'postgresql17-server' }
const BREW_FOLDERS = ['/opt/homebrew/bin', '/usr/local/bin']
const MACPORTS_FOLDERS = ['/opt/local/bin']

/** The text of /etc/os-release; empty where there is none. */
export const osRelease = (): string => (existsSync(OS_RELEASE) ? readFileSync(OS_RELEASE, 'utf8') : '')

export const thisSystem = (env: NodeJS.ProcessEnv = process.env): System => ({
  platform: process.platform,
  distributions: distributionsIn(osRelease()),
  isRoot: process.getuid?.() === 0,
  env,
})

export function distributionsIn(text: string): string[] {
  return `${releaseValue(text, 'ID')} ${releaseValue(text, 'ID_LIKE')}`.split(/\s+/).filter(Boolean)
}

export const releaseValue = (text: string, name: string): string =>
  new RegExp(`^${name}=["']?([^"'\\n]*)`, 'm').exec(text)?.[1] ?? ''

/** The one command that installs a server on this very system; null where we know none. */
export function installCommand(
  { platform, distributions, isRoot, env }: System,
  server: Server,
): string | null {
  if (platform === 'darwin') return macCommand(server, env)
  if (platform === 'win32') return 'wsl --install, and the same command in the Linux that it brings'
  if (distributions.includes('nixos')) return `nix-shell -p ${VALKEY[server]}`
  // openSUSE calls itself opensuse-leap or opensuse-tumbleweed, and is like suse.
  const known = distributions.map((id) => INSTALLERS[id]).find((installer) => installer !== undefined)
  if (!known) return null
  const [command, packages] = known
  const prefix = isRoot ? '' : distributions.includes('alpine') ? 'doas ' : 'sudo '
  return `${prefix}${command} ${packages[server]}`
}

function macCommand(server: Server, env: NodeJS.ProcessEnv): string {
  const brew = `brew install ${BREW[server]}`
  if (findProgram(['brew'], env, BREW_FOLDERS)) return brew
  if (findProgram(['port'], env, MACPORTS_FOLDERS)) return `sudo port install ${MACPORTS[server]}`
  return `${brew}, with Homebrew from https://brew.sh`
}

/** Alpine and others have musl in place of glibc: programs compiled for one do not run on the other. */
export function hasMusl(): boolean {
  if (process.platform !== 'linux') return false
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime === undefined
}
