//go:build system

package kills

import (
	"testing"

	"payledger/cmd/payledger/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
