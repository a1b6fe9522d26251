import { afterAll, beforeAll } from '@jest/globals'
import { Db } from '../src/index.js'

const cluster = process.env['SIGNET_TEST_DATABASE_URL'] ?? ''

/** A database for the tests of one file. The testkit depends on this package, so it cannot be used here. */
export function ownDatabase(subject: string) {
  const name = `db_${subject}_${process.pid}`
  const url = Object.assign(new URL(cluster), { pathname: `/${name}` }).href
  const admin = new Db({ connectionString: cluster, max: 1 })
  const db = new Db({ connectionString: url, max: 5 })
  beforeAll(async () => {
    await admin.query(`create database ${name}`)
  })
  afterAll(async () => {
    await db.close()
    await admin.query(`drop database ${name} with (force)`)
    await admin.close()
  })
  return { name, url, admin, db }
}
