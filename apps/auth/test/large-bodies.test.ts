import { expect, it } from '@jest/globals'
import { anEmail, post } from './support/api.js'
import { createInstallation, NO_MAIL_SERVER } from './support/process.js'

/** Nearly 1 MiB as JSON, and twenty times as much once it is parsed. */
const JUNK = `[${Array(340_000).fill('{}').join(',')}]`

it('a flood of large bodies does not stay in memory while its requests wait for the hashing threads', async () => {
  const installation = await createInstallation({
    ...NO_MAIL_SERVER,
    AUTH_JWT_SIGNING_ALGORITHM: 'ES256',
    AUTH_API_MAX_REQUEST_DURATION: '120s',
    AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '100000',
  })
  try {
    // This heap holds ten of these bodies, along with the code that compares responses with the document.
    const { url, child } = await installation.start({}, ['--max-old-space-size=240'])
    const requests = Array.from({ length: 40 }, (_, index) => {
      const members = `"email":"${anEmail()}","password":"correct horse battery"`
      const [path, body] =
        index % 2 === 0
          ? ['/token?grant_type=password', `{${members},"junk":${JUNK}}`]
          : ['/signup', `{${members},"data":{"junk":${JUNK}}}`]
      return post({ url }, path, body)
    })
    const answers = await Promise.all(requests)
    // 503 means that too many requests wait for a thread, and 408 that a busy machine was slow to send a body.
    expect(answers.filter(({ status }) => ![400, 408, 503].includes(status))).toEqual([])
    expect(child.exitCode).toBeNull()
  } finally {
    await installation.close()
  }
})
