package paymentpages

import (
	"testing"
	"time"
)

// TestViewsDiffer: no day has two views with the same filters. On the first of a month, Today and
// This month were the same, and each took the other away.
func TestViewsDiffer(t *testing.T) {
	t.Parallel()
	for day := range 366 {
		now := time.Date(2028, 1, 1+day, 12, 0, 0, 0, time.UTC)
		names := map[string]string{}
		for _, v := range views(now) {
			if other, twice := names[v.Query]; twice {
				t.Errorf("%s: %s and %s are %s", now.Format(time.DateOnly), other, v.Name, v.Query)
			}
			names[v.Query] = v.Name
		}
	}
}
