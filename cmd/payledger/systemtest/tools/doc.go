// Package tools tests the service with the tools of others: generated clients, linters, DuckDB,
// hyparquet, curl, terminals. It needs node, npm, python3, curl, jq and the network.
//
//	go test -tags system ./cmd/payledger/systemtest/tools
package tools
