// Package clientstest checks openapi.yaml with the tools of others, in tests: two linters find no fault in it, and clients that
// generators make of it, in Go and in TypeScript, compile and pay.
//
// The tools are npm packages, pinned in package.json and package-lock.json, and one Go program, pinned in clients.go. They are
// installed once for each state of the lock file, into the user's cache folder; the lock file names no place to download from.
// Generated files are written to temporary folders. The shipped module has none of this.
//
// Where a tool is missing, a test logs that and ends; in CI it fails.
package clientstest
