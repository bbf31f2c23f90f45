// Package browser tests the pages in Chromium: the hosted checkout, the dashboard, the
// documentation, the shop and the page of proofs. It needs chromium.
//
//	go test -tags system ./cmd/payledger/systemtest/browser
package browser
