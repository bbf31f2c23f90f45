//go:build system

package browser

import (
	"fmt"
	"os"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// atOnce is the number of tests that run beside each other: a browser computes more than it waits.
const atOnce = 4

func TestMain(m *testing.M) { apptest.MainOf(tests{m}, atOnce) }

// tests are the tests of this package, with the browser that they share.
type tests struct{ *testing.M }

// endBrowser ends the browser, if there is one.
var endBrowser = func() error { return nil }

// Run runs the tests, and ends the browser.
func (t tests) Run() int {
	status := t.M.Run()
	if err := endBrowser(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(status, 1)
	}
	return status
}
