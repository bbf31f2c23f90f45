//go:build system

package tools

import (
	"testing"

	"payledger/cmd/payledger/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
