import { describe, expect, it } from '@jest/globals'
import { codeField, field, notice, waitingButton } from './index.js'
import { kitTexts } from './page-texts.js'

const t = kitTexts('en')

const email = {
  name: 'email',
  label: 'Email',
  autocomplete: 'username',
  hint: 'A hint',
  first: true,
} as const

describe('a field', () => {
  it('has the focus where typing starts', () => {
    expect(field(t, email).text).toContain('autofocus')
    expect(field(t, { ...email, first: false }).text).not.toContain('autofocus')
  })

  it('gives the focus to the one that is wrong, which is announced with the notice', () => {
    expect(field(t, { ...email, fault: 'password' }).text).not.toMatch(/autofocus|aria-invalid/)
    const wrong = field(t, { ...email, first: false, fault: 'email' }).text
    expect(wrong).toMatch(/aria-invalid="true"\s+aria-describedby="notice email-hint"\s+autofocus/)
    expect(notice('Wrong', 'email')?.text).not.toContain('autofocus')
    expect(notice('Too many attempts')?.text).toMatch(
      /id="notice"\s+role="alert"\s+tabindex="-1"\s+autofocus/,
    )
  })

  it('keeps what was typed, except a password', () => {
    expect(field(t, { ...email, value: '"a"' }).text).toContain('value="&#34;a&#34;"')
    expect(field(t, { ...email, type: 'password', value: 'secret' }).text).not.toContain('secret')
  })

  it('for a code is described like the others', () => {
    expect(codeField(t, { fault: 'code' }).text).toContain(
      'aria-invalid="true" aria-describedby="notice" autofocus',
    )
  })
})

describe('a button that waits', () => {
  it.each([
    [0, 'Send it again'],
    [42, 'Send it again (in 42 seconds)'],
    [900, 'Send it again (in 15 minutes)'],
  ])('%d s says %s', (waitSeconds, text) => {
    const { text: button } = waitingButton(t, { label: 'Send it again', waitSeconds })
    expect(button.replace(/<[^>]*>/g, '').trim()).toBe(text)
  })
})
