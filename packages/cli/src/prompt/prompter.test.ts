import { PassThrough } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import { InterruptedError, UsageError } from '../errors.js'
import { Prompter } from './prompter.js'

/** A terminal to type on, and everything it showed. */
function aTerminal({ isTTY = true } = {}) {
  const input = Object.assign(new PassThrough(), { isTTY, setRawMode: () => undefined })
  const output = new PassThrough()
  const chunks: string[] = []
  output.setEncoding('utf8').on('data', (text: string) => chunks.push(text))
  return { input, prompter: new Prompter(input, output), shown: () => chunks.join('') }
}

describe('Prompter', () => {
  it('shows the question but nothing of a secret while it is typed and corrected', async () => {
    const { input, prompter, shown } = aTerminal()
    const answer = prompter.askSecret('Password: ')
    input.write('hunter3\u007f2\r')
    expect(await answer).toBe('hunter2')
    expect(shown()).toBe('Password: \n')
  })

  it('shows an ordinary answer', async () => {
    const { input, prompter, shown } = aTerminal()
    const answer = prompter.ask('Email: ')
    input.write('ana@example.com\r')
    expect(await answer).toBe('ana@example.com')
    expect(shown()).toContain('ana@example.com')
  })

  it('is interrupted by Ctrl-C', async () => {
    const { input, prompter } = aTerminal()
    const answer = prompter.askSecret('Password: ')
    input.write('hunt\u0003')
    await expect(answer).rejects.toThrow(InterruptedError)
  })

  it('leaves out the mark at the beginning that Windows puts into files and pipes', async () => {
    const { input, prompter } = aTerminal({ isTTY: false })
    input.end('\ufeffsecret\r\n\ufeff1\n')
    expect(await prompter.askSecret('Password: ')).toBe('secret')
    expect(await prompter.ask('Code: ')).toBe('\ufeff1')
  })

  it('reads one line per question from a pipe, and says when there are no more', async () => {
    const { input, prompter, shown } = aTerminal({ isTTY: false })
    input.end('secret\r\n123456\n')
    expect(await prompter.askSecret('Password: ')).toBe('secret')
    expect(await prompter.ask('Code: ')).toBe('123456')
    await expect(prompter.ask('More: ')).rejects.toThrow(UsageError)
    expect(shown()).toBe('')
  })
})
