// The raw limit: signed keep-alive POSTs, no queue, no database.
import { CONCURRENCY, serveRuns } from './sending.js'

serveRuns(async (ask, send) => {
  let next = 0
  const worker = async () => {
    while (next < ask.posts) await send(next++)
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return ask.posts / ((performance.now() - startedAt) / 1000)
})
