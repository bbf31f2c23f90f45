//go:build system

package browser

import (
	"testing"

	"payledger/cmd/payledger/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
