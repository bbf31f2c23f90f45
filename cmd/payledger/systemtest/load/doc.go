// Package load tests the service under load: floods of connections, slow clients, hanging
// processors, bytes on the disk and growth. Its benchmarks measure them.
//
//	go test -tags system ./cmd/payledger/systemtest/load
package load
