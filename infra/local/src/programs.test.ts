import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { installedPostgres } from './installed-postgres.js'
import { distributionsIn, installCommand, type System } from './programs.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-system-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const linux = (osRelease: string, isRoot = false): System => ({
  names: distributionsIn(osRelease),
  isRoot,
})

describe('installCommand', () => {
  // The lines of the files that these distributions come with.
  it.each([
    ['Debian', 'NAME="Debian GNU/Linux"\nID=debian\n', 'sudo apt-get install redis-server'],
    ['Ubuntu, also in WSL', 'ID=ubuntu\nID_LIKE=debian\n', 'sudo apt-get install redis-server'],
    ['Linux Mint', 'ID=linuxmint\nID_LIKE="ubuntu debian"\n', 'sudo apt-get install redis-server'],
    ['Fedora', 'ID=fedora\nVERSION_ID=43\n', 'sudo dnf install valkey'],
    ['Rocky Linux', 'ID="rocky"\nID_LIKE="rhel centos fedora"\n', 'sudo dnf install redis'],
    ['Alpine', 'NAME="Alpine Linux"\nID=alpine\n', 'doas apk add valkey'],
    ['Arch Linux', 'ID=arch\n', 'sudo pacman -S valkey'],
    ['Manjaro', 'ID=manjaro\nID_LIKE=arch\n', 'sudo pacman -S valkey'],
    ['openSUSE', 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', 'sudo zypper install valkey'],
    ['NixOS', 'ID=nixos\n', 'nix-shell -p valkey'],
    ['one that we do not know', 'ID=templeos\n', null],
  ])('on %s', (_, osRelease, command) => {
    expect(installCommand(linux(osRelease), 'redis')).toBe(command)
  })

  it('needs no sudo as root', () => {
    expect(installCommand(linux('ID=alpine\n', true), 'postgresql')).toBe('apk add postgresql17')
  })

  it("on macOS is Homebrew's", () => {
    expect(installCommand({ names: ['darwin'], isRoot: false }, 'redis')).toBe('brew install valkey')
  })
})

describe('installedPostgres', () => {
  function installed(version: string): string {
    const programs = join(folder, version)
    mkdirSync(programs)
    for (const name of ['postgres', 'initdb'])
      writeFileSync(join(programs, name), `#!/bin/sh\necho "${name} (PostgreSQL) ${version}"\n`, {
        mode: 0o755,
      })
    return programs
  }
  const search = (...folders: string[]) =>
    installedPostgres({ env: { PATH: folder }, folders, system: linux('ID=alpine\n') })

  it('takes the first that is new enough', () => {
    const [old, usable] = [installed('14.19'), installed('17.6')]
    expect(search(old, usable)).toBe(usable)
  })

  it('names what it saw, and the command for this system, where there is none', () => {
    const old = installed('14.19')
    expect(() => search(old)).toThrow(
      new RegExp(`others: ${join(old, 'postgres')}\\)\\n  Fix: doas apk add postgresql17\\n.*DATABASE_URL`),
    )
  })
})
