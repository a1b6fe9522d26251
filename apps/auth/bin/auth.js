#!/usr/bin/env node
// The command that package managers install. The container runs dist/main.js itself, with flags of its own for Node.
import '../dist/main.js'
