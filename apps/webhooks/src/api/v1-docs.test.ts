import { expect, it } from '@jest/globals'
import { commonComponents, errorReasons, responses } from './v1-docs.js'

it('the schema of errors names every code, in the order of the table', () => {
  const { properties } = commonComponents['Error'] as {
    properties: { error: { properties: { code: { enum: string[] } } } }
  }
  const named = properties.error.properties.code.enum
  expect(named).toEqual([...new Set(errorReasons.map(({ code }) => code))])
  expect(named).toContain('conflict')
})

it('an answer that fails names the codes of its status', () => {
  const documented = responses({}, 409) as Record<string, { description: string }>
  expect(Object.keys(documented)).toEqual(['400', '409', '500', '503', '504'])
  for (const { status, code, when } of errorReasons)
    if (String(status) in documented)
      expect(documented[status]?.description).toContain(`\`${code}\`: ${when}`)
})
