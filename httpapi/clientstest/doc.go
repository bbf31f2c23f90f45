// Package clientstest holds openapi.yaml to what the tools of others make of it, in tests: two linters find nothing in it,
// and clients that generators make of it, in Go and in TypeScript, compile and pay.
//
// The tools are npm packages, pinned in package.json and package-lock.json, and one Go program, pinned in clients.go. They are
// installed once for each state of the lock file, into the user's cache folder; the lock file names no place to download
// from. What they generate stands in temporary folders. Nothing of this is part of the module that is shipped.
//
// Where a tool is missing a test says so and ends; in CI it fails.
package clientstest
