package servicetest

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/starting"
	"payledger/cmd/payledger/terminal"
	"payledger/cmd/payledger/web"
	"payledger/httpapi"
)

// TestStarting: while the service starts, /healthz says that the process is up, and everything else
// how far the start is. Then the same address serves the API.
func TestStarting(t *testing.T) {
	t.Parallel()
	p := starting.New(zerolog.Nop())
	api, admin := web.NewDoor(httpapi.Starting(rand.Reader, p.String)), web.NewDoor(p.Admin())
	ask := func(h http.Handler, path string) (int, http.Header, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		body, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, w.Header(), string(body)
	}
	if status, _, body := ask(api, "/healthz"); status != http.StatusOK || !strings.Contains(body, "up") {
		t.Errorf("healthz: %d %s", status, body)
	}
	if _, _, body := ask(api, "/readyz"); !strings.Contains(body, "Not ready: starting: opening the log.") {
		t.Errorf("readyz: %s", body)
	}
	p.At(starting.Tips, 250, 1000)
	for _, path := range []string{"/readyz", "/payments"} {
		status, header, body := ask(api, path)
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" ||
			!strings.Contains(body, `"ServiceUnavailable"`) || !strings.Contains(body, "250 of 1000 events (25 %)") {
			t.Errorf("%s: %d %v %s", path, status, header, body)
		}
	}
	if status, _, body := ask(admin, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"events":250,"of":1000`) {
		t.Errorf("readyz of the admin address: %d %s", status, body)
	}
	if _, _, body := ask(admin, "/metrics"); !strings.Contains(body, "\nprocess_start_time_seconds ") {
		t.Errorf("the metrics of a start do not show restarts: %s", body)
	}
	if status, _, body := ask(admin, "/metrics"); status != http.StatusOK ||
		!strings.Contains(body, `payledger_start_events{stage="`+starting.Tips+`"} 250`) || !strings.Contains(body, `payledger_start_events_wanted{stage="`+starting.Tips+`"} 1000`) {
		t.Errorf("metrics of the admin address: %d %s", status, body)
	}
	api.Open(http.NotFoundHandler())
	if status, _, _ := ask(api, "/readyz"); status != http.StatusNotFound {
		t.Errorf("the door is still closed: %d", status)
	}
}

// TestStall: damage of the log ends a start only after 2 s without progress of the views: until
// then the damage may be where the views need nothing.
func TestStall(t *testing.T) {
	t.Parallel()
	var s starting.Stall
	look := func(done uint64, looks int) (stalled int) { // the number of looks that find a stall
		for range looks {
			if s.At(done) {
				stalled++
			}
		}
		return stalled
	}
	for done := range uint64(50) { // slow progress
		if n := look(done+1, starting.StillTicks); n != 0 {
			t.Fatalf("progress to %d counts as a stall", done+1)
		}
	}
	if n := look(51, 1); n != 0 {
		t.Error("a look after progress finds a stall")
	}
	if before, after := look(51, starting.StillTicks-1), look(51, 1); before != 0 || after != 1 {
		t.Errorf("without progress: %d stalls, then %d", before, after)
	}
	if n := look(52, 1); n != 0 {
		t.Error("progress does not end a stall")
	}
	if d := starting.ViewsEvery * starting.StillTicks; d != 2*time.Second {
		t.Errorf("a start ends %s after the last progress", d)
	}
}

// TestStopWhileStarting: a service that must stop before it is ready ends without an error, and its
// log says so (I1).
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	args := options.Arguments{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json"}
	line, err := command.NewLine()
	if err != nil {
		t.Fatal(err)
	}
	serve, err := line.Command(args)
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	serve.BindTo(stopped, (*context.Context)(nil))
	var out, log strings.Builder
	err = serve.Run(terminal.Streams{Out: &out, Err: &log}, args)
	if err != nil || out.Len() > 0 || !strings.Contains(log.String(), "stopped before it was ready") {
		t.Errorf("%v; stdout %q, log %s", err, out.String(), log.String())
	}
}
