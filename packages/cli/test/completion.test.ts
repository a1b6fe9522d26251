import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { useWorld } from './support/world.js'

const world = useWorld()

/** The script as a file, ready to be sourced. */
async function script(shell: string): Promise<string> {
  const ended = await world.machine.run(['completion', shell])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const file = join(world.machine.home, `completion.${shell}`)
  writeFileSync(file, ended.stdout)
  return file
}

const has = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0

describe('completion', () => {
  it.each([
    [['signet', 'web'], ['webhooks']],
    [['signet', 'webhooks', 'de'], ['delete']],
    [['signet', '--json', 'token', 'r'], ['revoke']],
    [['signet', 'webhooks', 'update', '42', '--ev'], ['--events']],
    [['signet', 'completion', '--h'], ['--help']],
  ])('in bash %j offers %j', async (words, offered) => {
    const program = [
      `source ${await script('bash')}`,
      `COMP_WORDS=(${words.join(' ')})`,
      `COMP_CWORD=${words.length - 1}`,
      '_signet',
      'printf "%s\\n" "${COMPREPLY[@]}"',
    ].join('\n')
    expect(execFileSync('bash', ['-c', program], { encoding: 'utf8' }).trim().split('\n')).toEqual(offered)
  })

  it.each(['zsh', 'fish'])(
    'for %s is a script that this shell accepts, where it is installed',
    async (shell) => {
      const file = await script(shell)
      if (has(shell))
        expect(spawnSync(shell, ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
      const { stdout } = await world.machine.run(['completion', shell])
      for (const word of [
        '/deliveries/list',
        'page-size',
        'show the delivery log of a webhook, newest first',
      ]) {
        expect(stdout).toContain(word)
      }
    },
  )

  it('knows no other shell', async () => {
    expect((await world.machine.run(['completion', 'tcsh'])).code).toBe(2)
  })
})
