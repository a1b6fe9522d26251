import { beforeAll } from '@jest/globals'
import { createRegistry } from '@signet/telemetry'
import { describeMonitoring } from '@signet/testkit/monitoring-tests'
import { useApi } from './support/api.js'

const api = useApi()
let page: string
beforeAll(async () => {
  const ofApi = await (await fetch(`${api.internalUrl}/metrics`)).text()
  // In production, the metrics of the process are on the same page.
  page = `${ofApi}\n${await createRegistry({ runtime: true }).metrics()}`
})

describeMonitoring({ service: 'webhooks', page: () => page, drawn: [] })
