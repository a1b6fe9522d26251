import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** A Chromium of this machine: `CHROMIUM_BIN`, PATH, or where Debian puts it. */
export function findChromium(): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin']
  const candidates = [
    process.env['CHROMIUM_BIN'] ?? '',
    ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
  ]
  return candidates.find((path) => path !== '' && existsSync(path)) ?? null
}

export function launchChromium(executablePath: string): Promise<Browser> {
  // Containers run as root and have a small /dev/shm.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}
