package eventstream_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"payledger/eventstore/eventstream"
)

// The requests of the command line of NATS, nats v0.5.1 (jsm.go v0.5.1), byte for byte; %s is the
// name of a consumer.
const (
	// nats consumer add EVENTS %s --pull --defaults
	lineAdd = `{"stream_name":"EVENTS","config":{"ack_policy":"explicit","ack_wait":30000000000,"deliver_policy":"all","durable_name":"%[1]s","name":"%[1]s",` +
		`"max_deliver":-1,"max_waiting":512,"replay_policy":"instant","num_replicas":0,"pause_until":"0001-01-01T00:00:00Z"},"action":"create"}`
	// nats stream view EVENTS
	lineView = `{"stream_name":"EVENTS","config":{"description":"JSM Stream Pager","ack_policy":"explicit","ack_wait":30000000000,"deliver_policy":"all","durable_name":"%[1]s",` +
		`"name":"%[1]s","filter_subject":">","max_deliver":-1,"max_waiting":512,"replay_policy":"instant","inactive_threshold":3600000000000,"num_replicas":1,"mem_storage":true,` +
		`"pause_until":"0001-01-01T00:00:00Z"},"action":""}`
	// nats sub --stream EVENTS --all
	lineSub = `{"stream_name":"EVENTS","config":{"name":"%[1]s","deliver_policy":"all","ack_policy":"none","filter_subject":">","replay_policy":"instant","num_replicas":0},"action":"create"}`
)

// call sends a request, and returns the answer.
func (u *user) call(t *testing.T, subject, body string) (answer struct {
	Name   string
	Config struct {
		Filter string `json:"filter_subject"`
	}
	Error   *struct{ Code int }
	Message *struct {
		Subject string
		Seq     uint64
		Data    string
	}
}) {
	t.Helper()
	m, err := u.Request("$JS.API."+subject, []byte(body), patience)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		t.Fatalf("%s: %v", m.Data, err)
	}
	return answer
}

// TestCommandLine checks that the requests of the command line of NATS make consumers of the
// account's own events.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	for name, c := range map[string]struct{ body, filter string }{"add": {lineAdd, ""}, "stream_pager_11764326000000000000": {lineView, ".>"}, "sub": {lineSub, ".>"}} {
		a := u.call(t, "CONSUMER.CREATE.EVENTS."+name+c.filter, fmt.Sprintf(c.body, name))
		if a.Error != nil || a.Name != ours+"_"+name || a.Config.Filter != "events."+ours+".>" {
			t.Errorf("%s: %+v", name, a)
			continue
		}
		consumer, err := u.js.Consumer(t.Context(), eventstream.Name, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, subjects := read(t, consumer, 3); strings.Join(subjects, " ") != strings.TrimSpace(strings.Repeat("events."+ours+".payment.captured ", 3)) {
			t.Errorf("%s reads %v", name, subjects)
		}
	}
	for filter, want := range map[string]string{
		">": "events.0ours.>", "events.>": "events.0ours.>", "*.>": "events.0ours.>", "events.*.>": "events.0ours.>", "events.*.payment.captured": "events.0ours.payment.captured",
		"*.*.payment.*": "events.0ours.payment.*", "events.0ours.payment.>": "events.0ours.payment.>",
		"events.0theirs.>": "", "other.>": "", "events": "", "events.*": "", "events.0ours": "", "*": "", "events.0ours*.>": "", ">.x": "", "events.>.x": "",
	} {
		a := u.call(t, "CONSUMER.CREATE.EVENTS.f", fmt.Sprintf(`{"stream_name":"EVENTS","config":{"name":"f","ack_policy":"none","filter_subject":%q}}`, filter))
		if (a.Error == nil) != (want != "") || a.Config.Filter != want {
			t.Errorf("%s becomes %q, %+v; expected %q", filter, a.Config.Filter, a.Error, want)
		}
		u.call(t, "CONSUMER.DELETE.EVENTS.f", "")
	}
	if a := u.call(t, "CONSUMER.CREATE.EVENTS.p", `{"stream_name":"EVENTS","config":{"name":"p","ack_policy":"none","pause_until":"2031-01-01T00:00:00Z"}}`); a.Error == nil {
		t.Error("a pause is accepted, and has no effect")
	}
}

// TestGetMessage checks that a user gets one message of its own account, as nats stream get asks
// for it, and no other account's.
func TestGetMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	path, _ := r.credentials(t, ours)
	u := r.connect(t, path)
	for body, want := range map[string]uint64{
		`{"seq":3}`: 3, `{"seq":2}`: 0, `{"seq":4}`: 0, `{"seq":999}`: 0, `{"last_by_subj":"events.0ours.payment.captured"}`: 19, `{"last_by_subj":"events.*.payment.captured"}`: 19,
		`{"last_by_subj":"events.0theirs.payment.captured"}`: 0, `{"last_by_subj":"events.0ours.payment.created"}`: 0, `{"seq":4,"next_by_subj":">"}`: 5,
		`{"seq":4,"next_by_subj":"events.0theirs.>"}`: 0,
		`{"seq":3,"batch":9}`:                         0, `{"seq":2,"Seq":3}`: 0, `{"seq":2,"seq":3}`: 0, `{"multi_last":["events.0theirs.>"],"batch":9}`: 0, `{}`: 0, ``: 0, `3`: 0,
	} {
		a := u.call(t, "STREAM.MSG.GET.EVENTS", body)
		got := uint64(0)
		if a.Message != nil {
			got = a.Message.Seq
			text, err := base64.StdEncoding.DecodeString(a.Message.Data)
			if err != nil || !strings.HasPrefix(a.Message.Subject, "events."+ours+".") || !strings.Contains(string(text), `"accountId":"`+ours+`"`) {
				t.Errorf("%s: %+v %s %v", body, a.Message, text, err)
			}
		}
		if got != want || (a.Error == nil) != (want != 0) {
			t.Errorf("%s is message %d, %+v; expected %d", body, got, a.Error, want)
		}
	}
}
