/** Where the walk-through finds everything. It touches the services over HTTP alone. */
export interface World {
  authUrl: string
  webhooksUrl: string
  /** Listener for other services of the operator: the recorder reports its summaries here. */
  internalUrl: string
  internalToken: string
  /** API of the mail inbox and of the webhook receiver. */
  sandboxUrl: string
  /** Folder of the recordings shipped with the repository. */
  recordingsFolder: string
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
