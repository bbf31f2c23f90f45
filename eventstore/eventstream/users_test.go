package eventstream_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/eventstream"
)

// TestUser: a user reads its account's events, each at its position, with durable and with ordered
// consumers.
func TestUser(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	stream, err := u.js.Stream(t.Context(), eventstream.Name)
	if err != nil {
		t.Fatal(err)
	}
	if info := stream.CachedInfo(); info.State.Msgs != 10 || info.State.LastSeq != 20 || fmt.Sprint(info.Config.Subjects) != "[events.0ours.>]" {
		t.Errorf("the stream is %+v", info)
	}
	want := "[1 3 5 7 9 11 13 15 17 19]"
	durable, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "warehouse", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := read(t, durable, 10); fmt.Sprint(got) != want {
		t.Errorf("a durable consumer reads %v", got)
	}
	ordered, err := u.js.OrderedConsumer(t.Context(), eventstream.Name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := read(t, ordered, 10); fmt.Sprint(got) != want {
		t.Errorf("an ordered consumer reads %v", got)
	}
	later, err := u.js.OrderedConsumer(t.Context(), eventstream.Name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 18, FilterSubjects: []string{"events.0ours.payment.>", "events.0ours.account.>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, 2, 10)
	if got, subjects := read(t, later, 2); fmt.Sprint(got, subjects) != "[19 21] [events.0ours.payment.captured events.0ours.payment.captured]" {
		t.Errorf("from position 18 on it reads %v %v", got, subjects)
	}
	again, err := u.js.Consumer(t.Context(), eventstream.Name, "warehouse")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := read(t, again, 1); fmt.Sprint(got) != "[21]" {
		t.Errorf("the durable consumer continues with %v", got)
	}
	if err := u.js.DeleteConsumer(t.Context(), eventstream.Name, "warehouse"); err != nil {
		t.Error(err)
	}
	if _, err := u.js.Consumer(t.Context(), eventstream.Name, "warehouse"); err == nil {
		t.Error("the deleted consumer still exists")
	}
}

// TestLargeBatches checks that a user that requests more messages than may wait for a connection
// gets them all, by repeated fetches and in a stream.
func TestLargeBatches(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t, 64<<20)
	r.write(t, 2400, 10_000)
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	var want []uint64
	for n := uint64(1); n < 2420; n += 2 {
		want = append(want, n)
	}
	same := func(what string, got []uint64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s has %d of %d messages", what, len(got), len(want))
		}
	}
	ordered, err := u.js.OrderedConsumer(t.Context(), eventstream.Name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for len(got) < len(want) {
		some, _ := read(t, ordered, min(1000, len(want)-len(got)))
		got = append(got, some...)
	}
	same("an ordered consumer", got)
	durable, err := u.js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "warehouse", AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := durable.Messages(jetstream.PullMaxMessages(1000))
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	got = nil
	for range want {
		m, err := messages.Next()
		if err != nil {
			t.Fatalf("after %d messages: %v", len(got), err)
		}
		at, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, at.Sequence.Stream)
	}
	same("a durable consumer", got)
}
