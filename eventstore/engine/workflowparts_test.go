package engine_test

import (
	"context"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// TestAsOf checks that an aggregate's state at a time is that of its newest event then; before the
// first event there is none.
func TestAsOf(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := noon
	config.Now = func() time.Time { return now }
	s := eventstoretest.OpenOn(t, config)
	key := eventstore.Workflows.Key("acct", "acct")
	var tip eventstore.Tip[workflow.State]
	for i := range 4 {
		now = noon.Add(time.Duration(i) * time.Minute)
		meta, err := s.NewMeta("test", "test")
		if err != nil {
			t.Fatal(err)
		}
		tip, err = eventstore.Execute(ctx, s, eventstore.Workflows, key, meta, func(state workflow.State) (workflow.Event, error) {
			return workflow.Created{At: meta.At, Account: "acct", ID: domain.WorkflowID(rune('a' + i))}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for after, want := range map[time.Duration]int{
		-time.Microsecond: 0, 0: 1, time.Minute - time.Microsecond: 1, time.Minute: 2, 150 * time.Second: 3, 3 * time.Minute: 4, time.Hour: 4,
	} {
		got, err := eventstore.AsOf(ctx, s, eventstore.Workflows, tip.Recorded, noon.Add(after))
		if err != nil || len(got.Workflows) != want || got.Revision != uint64(want) {
			t.Errorf("after %s: %+v %v, want %d", after, got, err, want)
		}
	}
	if got, err := eventstore.AsOf(ctx, s, eventstore.Workflows, nil, noon); err != nil || got.Revision != 0 {
		t.Errorf("of nothing: %+v %v", got, err)
	}
}
