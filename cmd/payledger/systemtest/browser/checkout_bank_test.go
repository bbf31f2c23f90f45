//go:build system && !race

package browser

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/options"
	"payledger/domain/exactjson"
	"payledger/processorsim/simulator"
)

// bank is a processor with a page of its own for the customer's check.
type bank struct {
	processors http.Handler
	url        string
	returnURL  atomic.Pointer[string]
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/bank" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>The bank</title><link rel="icon" href="data:,"><h1>The bank</h1><a id="passed" href="%s">It is me</a>`, html.EscapeString(*b.returnURL.Load()))
		return
	}
	body, _ := io.ReadAll(r.Body)
	var sent struct {
		ReturnURL string `json:"returnUrl"`
	}
	if exactjson.Unmarshal(body, &sent) == nil && sent.ReturnURL != "" {
		b.returnURL.Store(&sent.ReturnURL)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	b.processors.ServeHTTP(bankAnswer{w, b.url + "/bank"}, r)
}

type bankAnswer struct {
	http.ResponseWriter
	page string
}

func (w bankAnswer) Write(text []byte) (int, error) {
	const state = `"state":"ACTION_REQUIRED"`
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(text, []byte(state), []byte(state+`,"actionUrl":"`+w.page+`"`)))
	return len(text), err
}

// TestBank: the customer goes to the processor's own page for the check, comes back, and has paid;
// a second look at the way back changes nothing.
func TestBank(t *testing.T) {
	t.Parallel()
	b, found := startBrowser(t)
	if !found {
		return
	}
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	at := &bank{processors: sim.Handler()}
	server := httptest.NewServer(at)
	at.url = server.URL
	t.Cleanup(func() {
		_ = sim.Close()
		server.Close()
	})
	s := b.openTill(t, func(o *options.Options) { o.ProcessorURL, o.ProcessorSecret = server.URL, []string{"secret"} })
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390, "/required-actions/complete") // of the second look
	w.open(address)
	w.payWith(challengeCard)
	w.until(`document.getElementById("passed") !== null`)
	if where := eval[string](w, "location.href"); where != server.URL+"/bank" {
		t.Errorf("the customer is at %s", where)
	}
	s.wants(t, order, "PENDING")
	w.click("#passed")
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
	if back := *at.returnURL.Load(); !strings.HasPrefix(back, s.API+"/") {
		t.Errorf("the customer returns to %s", back)
	}
	w.load(*at.returnURL.Load())
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}
