package intake

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// TestCapsOverTLS: the caps know a connection below TLS: an idle one makes room, and one beyond
// them knows why.
func TestCapsOverTLS(t *testing.T) {
	lender := httptest.NewTLSServer(nil) // of its certificate
	defer lender.Close()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	now, idle := time.Now(), make(chan struct{}, 9)
	var mu sync.Mutex
	l := Listen(inner, Caps{Connections: 1, Reserve: 1, WriteTimeout: time.Minute, Tally: &Tally{}, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	serve := func(text string) *http.Server {
		s := &http.Server{
			TLSConfig: lender.TLS.Clone(), ConnContext: l.Context,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text+Why(r.Context()).String()) }),
		}
		s.TLSConfig.NextProtos = []string{"http/1.1"}
		return s
	}
	within, beyond := serve("within "), serve("beyond ")
	within.ConnState = func(c net.Conn, s http.ConnState) {
		l.State(c, s)
		if s == http.StateIdle {
			idle <- struct{}{}
		}
	}
	var serving sync.WaitGroup
	serving.Go(func() { within.ServeTLS(l.Within(), "", "") })
	serving.Go(func() { beyond.ServeTLS(l.Beyond(), "", "") })
	defer serving.Wait()
	defer beyond.Close()
	defer within.Close()
	ask := func() string {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		t.Cleanup(client.CloseIdleConnections)
		a, err := client.Get("https://" + inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	for i, want := range []string{"within connections", "beyond connections"} {
		if got := ask(); got != want {
			t.Fatalf("connection %d: %s", i, got)
		}
	}
	<-idle
	mu.Lock()
	now = now.Add(idleGrace)
	mu.Unlock()
	if got := ask(); got != "within connections" || l.caps.Tally.Of(Evicted) != 1 {
		t.Errorf("in place of an idle connection: %s", got)
	}
}
