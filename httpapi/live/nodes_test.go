package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/projections/paymentjson"
)

// filled returns a log with n requests of the account "a", a minute between two of them. From the
// first one on their bodies have a size.
func filled(n int, first time.Time, path string, body int) *RequestLog {
	l := NewRequestLog()
	for i := range n {
		at := first.Add(time.Duration(i) * time.Minute)
		l.Add("a", 200, at, func() Request {
			return Request{Time: paymentjson.Time{Time: at}, Status: 200, Path: fmt.Sprint(path, i), KeyName: "init"}
		}, func() (any, []byte) {
			return map[string]any{"status": "SETTLED", "type": strings.Repeat("x", body)}, nil
		})
	}
	return l
}

func paths(all []*Exchange) (text string) {
	for _, e := range all {
		text += e.Path + " "
	}
	return text
}

// TestNodes: the list has the requests of all nodes, the newest first, up to its limit, and the
// number of nodes that gave none.
func TestNodes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	own, other := filled(3, at, "/own", 0), filled(2, at.Add(30*time.Second), "/other", 0)
	n := &Nodes{own, func(_ context.Context, asked []byte) ([][]byte, int) {
		return [][]byte{other.Answer(asked), nil, []byte(`{"Requests":[null]}`)}, 1
	}}
	for limit, want := range map[int]string{500: "/own2 /other1 /own1 /other0 /own0 ", 2: "/own2 /other1 "} {
		got, err := n.list(t.Context(), question{Account: "a", Limit: limit})
		if err != nil || paths(got.Data) != want || got.Nodes != 2 || got.Silent != 3 {
			t.Errorf("%d: %q of %d nodes, %d are silent, %v", limit, paths(got.Data), got.Nodes, got.Silent, err)
		}
	}
	got, err := n.list(t.Context(), question{Account: "a", Statuses: []string{"2xx"}, Path: "/other", KeyName: "INIT", Limit: 9})
	if err != nil || paths(got.Data) != "/other1 /other0 " || got.Data[0].Body == "" {
		t.Errorf("filtered: %q, %v", paths(got.Data), err)
	}
	if got, err := n.list(t.Context(), question{Account: "b", Limit: 9}); err != nil || got.Data == nil || len(got.Data) > 0 {
		t.Errorf("another account: %v, %v", got.Data, err)
	}
	if other.Answer([]byte("no JSON")) != nil {
		t.Error("a question that is none is answered")
	}
}

// TestLargeAnswer: an answer of a node has a bound. It leaves out bodies first, then the oldest
// requests; the list then ends where they would follow.
func TestLargeAnswer(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	asked, err := json.Marshal(question{Account: "a", Limit: requestsKept})
	if err != nil {
		t.Fatal(err)
	}
	for _, long := range []bool{false, true} {
		path := "/"
		if long {
			path += strings.Repeat("p", 4<<10)
		}
		other := filled(requestsKept, at, path, 64)
		for _, e := range other.kept[domain.AccountID("a")].Value.(*keptRequests).all {
			e.Answer = strings.Repeat("y", mostShownBody)
		}
		var of part
		answer := other.Answer(asked)
		if err := json.Unmarshal(answer, &of); err != nil || len(answer) > answerMost {
			t.Fatalf("%d bytes, %v", len(answer), err)
		}
		oldest := of.Requests[len(of.Requests)-1]
		if of.Requests[0].Answer == "" || oldest.Answer != "" || of.Cut != long || !long && len(of.Requests) != requestsKept {
			t.Errorf("cut %v, %d requests, the oldest of %v", of.Cut, len(of.Requests), oldest.Time)
		}
		own := filled(requestsKept, at, "/own", 0)
		n := &Nodes{own, func(context.Context, []byte) ([][]byte, int) { return [][]byte{answer}, 0 }}
		list, err := n.list(t.Context(), question{Account: "a", Limit: 2 * requestsKept})
		if want := 2 * len(of.Requests); err != nil || len(list.Data) != want || list.Data[want-1].Time.Before(oldest.Time.Time) {
			t.Errorf("cut %v: the list has %d requests, want %d, %v", long, len(list.Data), want, err)
		}
	}
}
