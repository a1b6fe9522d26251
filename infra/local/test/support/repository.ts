import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Creates a Git repository with these files in a new folder. */
export function aRepository(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'signet-repository-'))
  git(folder, 'init', '--quiet')
  addFiles(folder, files)
  return folder
}

export function addFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  git(folder, 'add', '.')
}

export function git(folder: string, ...args: readonly string[]): void {
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
  const { status, stderr } = spawnSync('git', ['-C', folder, ...author, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

/** Runs a program of `infra/checks` on a repository. */
export function checked(program: string, folder: string): { status: number | null; problems: string[] } {
  const path = fileURLToPath(new URL(`../../../checks/${program}`, import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [path, `--folder=${folder}`], { encoding: 'utf8' })
  return { status, problems: stdout.split('\n').filter(Boolean) }
}
