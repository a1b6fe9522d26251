#!/usr/bin/env node
// A browser without a window: visits the address it is given and follows where it is sent.
const response = await fetch(process.argv[2])
await response.text()
