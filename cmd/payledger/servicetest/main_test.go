package servicetest

import (
	"testing"

	"payledger/cmd/payledger/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
