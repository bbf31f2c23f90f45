package audit

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/verify"
)

// nasty is a text from outside that would change other lines on a terminal.
const nasty = "a\r\n\u202e\x1b[2J\tb"

func expectHarmless(t *testing.T, text string, lines int) {
	t.Helper()
	if strings.ContainsAny(text, "\r\u202e\x1b\t") || strings.Count(text, "\n") != lines || !strings.Contains(text, "b") {
		t.Errorf("%q", text)
	}
}

// TestHarmlessFaults: the lines of verify --all, and its note, cannot change other lines.
func TestHarmlessFaults(t *testing.T) {
	data, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	mux := http.NewServeMux()
	mux.Handle("/verify", control.Command(func(_ context.Context, _ VerifyRequest, emit func(any) error) (any, error) {
		return verified{Faults: 1}, emit(verifyLine{Fault: &verify.Fault{Aggregate: nasty, ID: nasty, Difference: nasty}})
	}))
	s, err := control.Listen(t.Context(), data, mux)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	var out strings.Builder
	err = (&Verify{Data: data, All: true}).Run(t.Context(), terminal.Streams{Out: &out, Err: io.Discard}, nil)
	if err == nil || !strings.Contains(err.Error(), "1 fault") {
		t.Error(err)
	}
	expectHarmless(t, out.String(), 1)
	expectHarmless(t, verified{Note: nasty}.text("", 1), 2)
	out.Reset()
	if err := printEvent(&out, fmt.Appendf(nil, `{"position":1,"type":%q,"actor":%q}`, "t", "a\u202eb"), true); err != nil {
		t.Fatal(err)
	}
	expectHarmless(t, out.String(), 1)
}

// lastNote keeps the notes, and calls end with the first one.
type lastNote struct {
	strings.Builder
	end context.CancelFunc
}

func (n *lastNote) Write(text []byte) (int, error) {
	n.end()
	return n.Builder.Write(text)
}

// TestHarmlessNotes: the notes about a server that is away cannot change other lines.
func TestHarmlessNotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, first string
		follow      func(context.Context, Source, io.Writer) error
	}{
		{"/checkpoints", `{"data":[]}`, func(ctx context.Context, of Source, notes io.Writer) error {
			return (&Checkpoints{Follow: true, Source: of}).fromServer(ctx, notes, &witness{emit: appendTo(io.Discard)})
		}},
		{"/events/stream", "", func(ctx context.Context, of Source, notes io.Writer) error {
			_ = (&Tail{Source: of}).follow(ctx, notes, func([]byte) error { return nil }) // the end of ctx
			return nil
		}},
	} {
		path, first, follow := c.path, c.first, c.follow
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				t.Errorf("asked for %s", r.URL)
			}
			if asked.Add(1) == 1 { // the stream of events breaks then
				fmt.Fprint(w, first)
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"error":{"errorId":"ServiceUnavailable","description":"a\r\n\u202e\u001b\tb"}}`)
		}))
		ctx, end := context.WithCancel(t.Context())
		notes := &lastNote{end: func() {
			if asked.Load() > 1 {
				end()
			}
		}}
		if err := follow(ctx, Source{URL: server.URL, APIKey: "key"}, notes); err != nil {
			t.Error(path, err)
		}
		expectHarmless(t, notes.String(), strings.Count(notes.String(), "payledger: "))
		if !strings.Contains(notes.String(), "ServiceUnavailable") {
			t.Errorf("%s: %s", path, notes.String())
		}
		end()
		server.Close()
	}
}
