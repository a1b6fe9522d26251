#!/usr/bin/env node
// Stands in for a browser: opens the address it is given and follows redirects.
const response = await fetch(process.argv[2])
await response.text()
