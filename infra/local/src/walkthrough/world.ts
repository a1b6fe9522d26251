import type { StackAddresses } from '../stack/environment.js'

/** Where the walk-through finds everything. It touches the services over HTTP alone. */
export interface World extends Pick<
  StackAddresses,
  'authUrl' | 'webhooksUrl' | 'internalUrl' | 'sandboxUrl'
> {
  internalToken: string
}

export interface Person {
  email: string
  password: string
  accountId: string
}

/** What the steps after the third one work with. */
export interface Walk {
  world: World
  person: Person
  /** Of the application. */
  accessToken: string
  subscription: Subscription
}

export interface Subscription {
  endpointId: string
  /** Path of the receiver. */
  path: string
  secret: string
}
