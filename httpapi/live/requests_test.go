package live

import (
	"testing"
	"time"

	"payledger/domain"
)

// TestRequestLog checks that a reader receives the requests of its account that match its filter.
// Requests that the reader has no room for are dropped and counted, and no caller waits.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	l, made := NewRequestLog(), 0
	add := func(account string, status int, path string) {
		l.Add(domain.AccountID(account), status, time.Time{}, func() Request { made++; return Request{Status: status, Path: path} }, nil)
	}
	add("a", 200, "/payments")
	all, leaveAll := l.enter("a", requestFilter(nil, ""))
	some, leaveSome := l.enter("a", requestFilter([]string{"4xx", "503"}, "/payments"))
	add("b", 200, "/payments")
	add("", 401, "/payments")
	if made != 0 {
		t.Errorf("%d requests without a reader were made", made)
	}
	for _, r := range []Request{{Status: 200, Path: "/payments"}, {Status: 404, Path: "/payments/1"}, {Status: 503, Path: "/payments"}, {Status: 500, Path: "/payments"}, {Status: 404, Path: "/events"}} {
		add("a", r.Status, r.Path)
	}
	if len(all.queue) != 5 || len(some.queue) != 2 {
		t.Errorf("%d and %d requests wait", len(all.queue), len(some.queue))
	}
	for range requestQueue {
		add("a", 200, "/payments")
	}
	if all.dropped.Load() != 5 || some.dropped.Load() != 0 || len(all.queue) != requestQueue {
		t.Errorf("%d and %d requests were dropped", all.dropped.Load(), some.dropped.Load())
	}
	leaveAll()
	leaveSome()
	if len(l.byAccount) != 0 || len(l.kept) != 0 {
		t.Errorf("readers are left: %v; kept: %v", l.byAccount, l.kept)
	}
}
