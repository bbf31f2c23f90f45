// Package clusters tests the service on clusters of NATS servers: several nodes, servers that fail
// and are cut off, rotation, back-ups and TLS.
//
//	go test -tags system ./cmd/payledger/systemtest/clusters
package clusters
