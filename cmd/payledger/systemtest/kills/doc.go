// Package kills tests the service as a process: it is killed, its disk is full or damaged, its
// clock jumps; and random histories are compared with models.
//
//	go test -tags system ./cmd/payledger/systemtest/kills
package kills
