package backups

import (
	"errors"
	"strings"
	"testing"

	"payledger/eventstore/fault"
)

// TestDamaged: the error of a restored ledger that is not whole does not advise to copy the folder,
// which restore removes. It is the same error for the caller.
func TestDamaged(t *testing.T) {
	t.Parallel()
	err := error(damaged{fault.Stream("LEDGER_0", errors.New("a byte differs"))})
	if text := err.Error(); strings.Contains(text, "copy") || !strings.Contains(text, "a byte differs; the back-up was not changed") {
		t.Error(text)
	}
	if !errors.Is(err, fault.ErrUnhealthy) {
		t.Errorf("%v is another error", err)
	}
}
