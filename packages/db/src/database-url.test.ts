import { describe, expect, it } from '@jest/globals'
import { parseDatabaseUrl } from './database-url.js'

describe('parseDatabaseUrl', () => {
  it.each([
    'postgres://user:password@host:5432/database',
    'postgresql://host/database?application_name=a',
    'POSTGRES://user:p%23%40ss@host/database',
    'postgres://user@%2Fvar%2Frun%2Fpostgresql/database',
    'postgres:///database?host=/var/run/postgresql',
    'postgres://user:password@[::1]/database?sslmode=verify-full',
  ])('accepts %s', (url) => {
    expect(parseDatabaseUrl(url)).toBe(url)
  })

  it.each([
    'http://host/database',
    'host:5432',
    'postgres://host/data base',
    'postgres://user:secret@host:port/database',
    'postgres://user:sec#ret@host/database',
    'postgres://user:secret@host:70000/database',
  ])('refuses %s, without repeating it', (url) => {
    expect(() => parseDatabaseUrl(url)).toThrow(/^must be a URL such as postgres:\/\/(?!.*(?:secret|sec#))/)
  })

  it('names the certificate that cannot be read', () => {
    expect(() => parseDatabaseUrl('postgres://user:secret@host/database?sslrootcert=/no/such/file')).toThrow(
      'names the file /no/such/file, which cannot be read (ENOENT)',
    )
  })
})
