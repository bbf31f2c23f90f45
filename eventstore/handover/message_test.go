package handover_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/format"
	"payledger/eventstore/handover"
)

func drafts() []*format.Recorded {
	var all []*format.Recorded
	for i, id := range []string{"one", "two"} {
		all = append(all, &format.Recorded{
			Key: format.Key{Account: "acct", Aggregate: "payment", ID: id}, Revision: 2, PrevSeq: format.At(7, i), Type: "payment.captured", Schema: 1,
			EventID: "11111111-1111-4111-8111-111111111111", CommandID: "22222222-2222-4222-8222-222222222222", CorrelationID: "r", Actor: "key:k",
			Time: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC), Hash: format.Hash{byte(i)}, Body: []byte{0x80},
		})
	}
	return all
}

func TestRequest(t *testing.T) {
	t.Parallel()
	sent := handover.Request{From: "b", To: "a", Shard: 3, Drafts: drafts(), Barrier: 9, Relay: true}
	m := sent.Message()
	if m.Subject != "payledger.drafts.a.3" || m.Reply != "payledger.placed.b.3.a" {
		t.Errorf("on %s, reply to %s", m.Subject, m.Reply)
	}
	got, err := handover.ParseRequest(m)
	if err != nil || got.To != "a" || got.Shard != 3 || got.Barrier != 9 || !got.Relay || len(got.Drafts) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, d := range got.Drafts {
		want := sent.Drafts[i]
		if d.Shard != 3 || d.Key != want.Key || d.Hash != want.Hash || d.PrevSeq != want.PrevSeq || string(d.Body) != string(want.Body) || !d.Time.Equal(want.Time) {
			t.Errorf("draft %d: %+v", i, d)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	reply := handover.Request{From: "b", To: "a", Shard: 3}.Message().Reply
	hashes := []format.Hash{{1}, {2}}
	for name, c := range map[string]struct {
		message *nats.Msg
		want    handover.Answer
	}{
		"stored":          {handover.Stored(reply, 12, 4), handover.Answer{From: "a", Shard: 3, Head: 12, Barrier: 4}},
		"refused":         {handover.Refused(reply, handover.Conflict, 12, 0, hashes...), handover.Answer{From: "a", Shard: 3, Refused: handover.Conflict, Head: 12, Hashes: hashes}},
		"refused readers": {handover.Refused(reply, handover.Elsewhere, 12, 5), handover.Answer{From: "a", Shard: 3, Refused: handover.Elsewhere, Head: 12, Barrier: 5}},
		"nobody took it":  {&nats.Msg{Subject: reply, Header: nats.Header{"Status": {"503"}}}, handover.Answer{From: "a", Shard: 3, Nobody: true}},
	} {
		got, err := handover.ParseAnswer(c.message)
		w := c.want
		if err != nil || got.From != w.From || got.Shard != w.Shard || got.Barrier != w.Barrier ||
			got.Refused != w.Refused || got.Head != w.Head || !slices.Equal(got.Hashes, w.Hashes) || got.Nobody != w.Nobody {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	good := handover.Request{From: "b", To: "a", Shard: 3, Drafts: drafts()}.Message()
	for name, change := range map[string]func(*nats.Msg){
		"subject":      func(m *nats.Msg) { m.Subject = "payledger.drafts.a" },
		"shard":        func(m *nats.Msg) { m.Subject = "payledger.drafts.a.x" },
		"no reply":     func(m *nats.Msg) { m.Reply = "" },
		"cut":          func(m *nats.Msg) { m.Data = m.Data[:len(m.Data)-1] },
		"wrong number": func(m *nats.Msg) { m.Header.Set("Payledger-Barrier", "-1") },
	} {
		bad := *good
		bad.Header = nats.Header{}
		change(&bad)
		if r, err := handover.ParseRequest(&bad); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for name, m := range map[string]*nats.Msg{
		"subject": {Subject: "payledger.placed.b.3", Data: []byte("x")},
		"shard":   {Subject: "payledger.placed.b.x.a", Data: []byte("x")},
		"hashes":  {Subject: "payledger.placed.b.3.a", Data: []byte("x"), Header: nats.Header{"Payledger-Refused": {"conflict"}}},
		"head":    {Subject: "payledger.placed.b.3.a", Header: nats.Header{"Payledger-Refused": {"conflict"}, "Payledger-Head": {"x"}}},
	} {
		if a, err := handover.ParseAnswer(m); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestRefusals: a request gets one message for its drafts and one for its readers; a conflict has
// its own.
func TestRefusals(t *testing.T) {
	t.Parallel()
	reply := handover.Request{From: "b", To: "a", Shard: 3}.Message().Reply
	all := drafts()
	var r handover.Refusals
	for _, d := range append(all, nil) {
		r.Add(reply, handover.Elsewhere, 5, d)
	}
	r.Add(reply, handover.Conflict, 5, all[1])
	var got []handover.Answer
	for _, m := range r.Take(12) {
		a, err := handover.ParseAnswer(m)
		if err != nil || a.Head != 12 {
			t.Errorf("%+v, %v", a, err)
		}
		got = append(got, a)
	}
	if len(got) != 3 || len(got[0].Hashes) != 2 || got[0].Barrier != 0 || len(got[1].Hashes) != 0 || got[1].Barrier != 5 ||
		got[2].Refused != handover.Conflict || got[2].Hashes[0] != all[1].Hash {
		t.Errorf("%+v", got)
	}
	if again := r.Take(12); len(again) > 0 {
		t.Errorf("%d messages are there twice", len(again))
	}
}
