package secretlog

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"payledger/eventstore/jetapi"
)

// TestSilentServer checks when publishes without an answer stop the process: after a time without
// any acknowledgement. A publish that its caller gave up says nothing about the server.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	late, given := fmt.Errorf("publish: %w", context.DeadlineExceeded), fmt.Errorf("publish: %w", context.Canceled)
	for name, c := range map[string]struct {
		answers []error // one each 3 s
		stops   bool
	}{
		"without an answer":        {[]error{late, late, late}, true},
		"not long enough":          {[]error{late, late}, false},
		"acknowledged in between":  {[]error{late, late, nil, late, late}, false},
		"given up":                 {[]error{given, given, given, given}, false},
		"given up, then one late":  {[]error{given, given, given, late}, false},
		"late, and given up after": {[]error{late, given, given, given}, false},
		"given up in between":      {[]error{late, given, late}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stopped := false
				b := Stream{Config: Config{
					API: &jetapi.Client{ReadTimeout: 5 * time.Second}, Sole: true, Witness: &Witness{}, Life: context.Background(),
					Fail: func(_ error, stop bool) { stopped = stop },
				}}
				for _, err := range c.answers {
					<-time.After(3 * time.Second)
					b.answered(newSegment(1, 1), 0, err)
				}
				if stopped != c.stops {
					t.Errorf("the process stops: %t", stopped)
				}
			})
		})
	}
}
