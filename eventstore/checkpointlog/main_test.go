package checkpointlog_test

import (
	"testing"

	"payledger/eventstore/eventstoretest"
)

func TestMain(m *testing.M) { eventstoretest.RunWithoutLeaks(m) }
