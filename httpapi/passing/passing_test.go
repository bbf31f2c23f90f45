package passing

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/httpapi/intake"
)

// pipe is the way between two nodes.
type pipe struct {
	pieces chan []byte
	err    error // at the end; nil: io.EOF
	away   context.CancelFunc
}

func (p *pipe) Next(ctx context.Context) ([]byte, error) {
	select {
	case piece, more := <-p.pieces:
		if !more {
			if p.err == nil {
				return nil, io.EOF
			}
			return nil, p.err
		}
		return piece, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Close() { p.away() }

type idKey struct{}

// rig is a node without views, and one with views whose API is api.
type rig struct {
	door    *httptest.Server
	passing *Door // behind door
	seen    []uint64
	shown   func(position []uint64) error
	call    error // of the way between the nodes
}

func newRig(t *testing.T, api http.HandlerFunc) *rig {
	r := &rig{seen: []uint64{7, 9}, shown: func([]uint64) error { return nil }}
	refuse := func(w http.ResponseWriter, _ *http.Request, why Refusal) {
		w.Header().Set("Retry-After", "2")
		w.Header().Set("X-Request-Id", why.ID)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, why.Description+" "+why.Recovery)
	}
	server := &Server{
		API: api, Refuse: refuse, Shown: func(_ context.Context, position []uint64) error { return r.shown(position) },
		WithID: func(ctx context.Context, id string) context.Context { return context.WithValue(ctx, idKey{}, id) },
	}
	r.passing = NewDoor(&Door{
		Own:    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "own") }),
		Seen:   func() []uint64 { return r.seen },
		Refuse: refuse, NewID: func() string { return "id-1" }, Logger: zerolog.Nop(),
		Call: func(ctx context.Context, request []byte) (Answer, error) {
			if r.call != nil {
				return nil, r.call
			}
			ctx, cancel := context.WithCancel(ctx)
			p := &pipe{pieces: make(chan []byte), away: cancel}
			go func() {
				p.err = server.Handle(ctx, request, func(piece []byte) error {
					select {
					case p.pieces <- piece:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				close(p.pieces)
			}()
			return p, nil
		},
	})
	r.door = httptest.NewServer(r.passing)
	t.Cleanup(r.door.Close)
	return r
}

type answer struct {
	*http.Response
	text string
	err  error
}

func (r *rig) do(t *testing.T, method, path, body string, header http.Header) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.door.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.GetBody, request.Host = nil, "shop.example"
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response, string(text), err}
}

func TestPassed(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789", 20_000)
	var got *http.Request
	var body []byte
	r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
		got = request
		body, _ = io.ReadAll(request.Body)
		w.Header().Set("Payledger-Lag", "events=0, ms=1")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, large)
	})
	header := http.Header{"X-Api-Key": {"secret"}, "X-Forwarded-For": {"192.0.2.1", "192.0.2.2"}}
	a := r.do(t, "POST", "/management/workflows?a=b%20c", `{"x":1}`, header)
	if a.err != nil || a.StatusCode != http.StatusAccepted || a.text != large || a.Header.Get("Payledger-Lag") == "" || len(a.Header.Values("Set-Cookie")) != 2 {
		t.Errorf("%v %v, %d bytes, %v", a.err, a.Status, len(a.text), a.Header)
	}
	if got.Method != "POST" || got.URL.Path != "/management/workflows" || got.URL.RawQuery != "a=b%20c" || got.Host != "shop.example" ||
		!strings.HasPrefix(got.RemoteAddr, "127.0.0.1:") || got.Header.Get("X-Api-Key") != "secret" || !slices.Equal(got.Header["X-Forwarded-For"], header["X-Forwarded-For"]) ||
		got.TLS != nil || string(body) != `{"x":1}` || got.ContentLength != 7 || got.Context().Value(idKey{}) != "id-1" {
		t.Errorf("the other node got %+v, %s", got, body)
	}
	if a := r.do(t, "HEAD", "/payments", "", nil); a.err != nil || a.StatusCode != http.StatusAccepted || a.text != "" {
		t.Errorf("HEAD: %v %v %q", a.err, a.Status, a.text)
	}
	for _, path := range []string{"/payments/x", "/management/request-log", "/management/request-log/stream"} {
		if a := r.do(t, "GET", path, "", nil); a.text != "own" {
			t.Errorf("%s: a call without views was passed on: %q", path, a.text)
		}
	}
	long := strings.Repeat("x", maxBody+5)
	if a := r.do(t, "POST", "/management/workflows", long, nil); a.err != nil || len(body) != maxBody {
		t.Errorf("of a body of %d bytes the other node got %d: %v", len(long), len(body), a.err)
	}
}

// TestBytes: a header and a target may have any bytes: two keys that are no UTF-8 stay two.
func TestBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("X-Back", request.Header.Get("X-Idempotency-Key"))
		_, _ = io.WriteString(w, request.URL.RawQuery)
	})
	for _, bytes := range []string{"\xe4", "\xf6", "é€", "\xff\x80a"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.door.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /payments?q="+bytes+" HTTP/1.1\r\nHost: shop.example\r\nX-Idempotency-Key: "+bytes+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if key := answer.Header.Get("X-Back"); err != nil || key != bytes || string(text) != "q="+bytes {
			t.Errorf("%q: the other node got the key %q and the query %q: %v", bytes, key, text, err)
		}
	}
}

// TestLength: a short answer has its length, also to HEAD; an answer whose end comes late has none.
func TestLength(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/nothing":
			w.WriteHeader(http.StatusNoContent)
			return
		case "/late":
			_, _ = io.WriteString(w, "first")
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, "list")
	})
	for _, c := range []struct {
		method, path, text string
		length             int64
	}{
		{"GET", "/payments", "list", 4}, {"HEAD", "/payments", "", 4}, {"GET", "/late", "firstlist", -1}, {"HEAD", "/late", "", -1}, {"GET", "/nothing", "", 0},
	} {
		a := r.do(t, c.method, c.path, "", nil)
		if a.err != nil || a.text != c.text || a.ContentLength != c.length || c.path == "/nothing" && a.Header.Get("Content-Length") != "" {
			t.Errorf("%s %s: %v %q, length %d", c.method, c.path, a.err, a.text, a.ContentLength)
		}
	}
}

// TestGone: a request whose caller goes away is no 503: neither while no node takes it, nor while
// one works on it.
func TestGone(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		came := make(chan struct{})
		p := &pipe{pieces: make(chan []byte), away: func() {}}
		d := NewDoor(&Door{
			Seen: func() []uint64 { return nil }, NewID: func() string { return "id" }, Logger: zerolog.Nop(),
			Refuse: func(w http.ResponseWriter, _ *http.Request, _ Refusal) { w.WriteHeader(http.StatusServiceUnavailable) },
			Call: func(ctx context.Context, _ []byte) (Answer, error) {
				close(came)
				if taken {
					return p, nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			d.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/management/workflows", nil).WithContext(ctx))
			close(ended)
		}()
		<-came
		leave()
		<-ended
		if refused, gone := d.Refused(), d.Gone(); refused != 0 || (gone == 1) == taken { // the other node counts a request that it took
			t.Errorf("taken %t: %d refused, %d gone", taken, refused, gone)
		}
	}
}

// TestCutBody: a body of which the client sent a half is not a whole one at the other node.
func TestCutBody(t *testing.T) {
	t.Parallel()
	type got struct {
		text string
		err  error
	}
	bodies := make(chan got, 1)
	r := newRig(t, func(_ http.ResponseWriter, request *http.Request) {
		text, err := io.ReadAll(request.Body)
		bodies <- got{string(text), err}
	})
	for _, head := range []string{"Content-Length: 100", "Transfer-Encoding: chunked"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.door.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		body := "amount=10"
		if strings.HasPrefix(head, "Transfer") {
			body = "9\r\namount=10\r\n"
		}
		_, err = io.WriteString(conn, "POST /dashboard/payments/x HTTP/1.1\r\nHost: shop.example\r\n"+head+"\r\n\r\n"+body)
		if err == nil {
			err = conn.(*net.TCPConn).CloseWrite()
		}
		if err != nil {
			t.Fatal(err)
		}
		if b := <-bodies; b.text != "amount=10" || b.err == nil {
			t.Errorf("%s: %q, %v", head, b.text, b.err)
		}
		conn.Close()
	}
}

// TestSlowBodies: a client that sends its body slowly takes no place from others.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "list") })
	for range maxPassed + 1 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.door.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST /management/workflows HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 10\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	if a := r.do(t, "GET", "/payments", "", nil); a.text != "list" {
		t.Errorf("%v %q", a.Status, a.text)
	}
}

// TestTLS: a request that came over TLS is one at the other node: its pages set cookies for TLS
// only.
func TestTLS(t *testing.T) {
	t.Parallel()
	secure := false
	s := &Server{
		API: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { secure = r.TLS != nil }), Shown: func(context.Context, []uint64) error { return nil },
		WithID: func(ctx context.Context, _ string) context.Context { return ctx },
	}
	d := NewDoor(&Door{Seen: func() []uint64 { return nil }, NewID: func() string { return "" }, Logger: zerolog.Nop(), Call: func(ctx context.Context, request []byte) (Answer, error) {
		var all [][]byte
		err := s.Handle(ctx, request, func(piece []byte) error { all = append(all, bytes.Clone(piece)); return nil })
		p := &pipe{pieces: make(chan []byte, len(all)), away: func() {}}
		for _, piece := range all {
			p.pieces <- piece
		}
		close(p.pieces)
		return p, err
	}})
	r := httptest.NewRequest(http.MethodGet, "https://shop.example/dashboard", nil)
	r.TLS = &tls.ConnectionState{}
	d.ServeHTTP(httptest.NewRecorder(), r)
	if !secure {
		t.Error("the other node does not know that the request came over TLS")
	}
}

// TestSeen: a list waits until it shows what the first node knows.
func TestSeen(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "list") })
	var waited []uint64
	r.shown = func(position []uint64) error { waited = position; return nil }
	if a := r.do(t, "GET", "/payments", "", nil); a.text != "list" || !slices.Equal(waited, r.seen) {
		t.Errorf("%q after waiting for %v", a.text, waited)
	}
	r.shown = func([]uint64) error { return context.DeadlineExceeded }
	if a := r.do(t, "GET", "/payments", "", nil); a.StatusCode != http.StatusServiceUnavailable || !strings.HasPrefix(a.text, behind) || a.Header.Get("X-Request-Id") != "id-1" {
		t.Errorf("%v %q", a.Status, a.text)
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	part := make(chan bool, 1)
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		if <-part {
			_, _ = io.WriteString(w, strings.Repeat("x", 2*pieceSize))
		}
		panic(http.ErrAbortHandler)
	})
	for _, c := range []struct{ method, want string }{{"GET", broken}, {"HEAD", ""}, {"POST", unclear}} {
		part <- false
		a := r.do(t, c.method, "/management/workflows", "", nil)
		if a.err != nil || a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.HasPrefix(a.text, c.want) {
			t.Errorf("%s: %v %v %q", c.method, a.err, a.Status, a.text)
		}
	}
	part <- true
	if a := r.do(t, "GET", "/payments", "", nil); a.err == nil {
		t.Errorf("an answer that broke off is whole: %v", a.Status)
	}
	r.call = errors.New("no responders")
	a := r.do(t, "POST", "/management/workflows", "", nil)
	if a.err != nil || a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.HasPrefix(a.text, nobody) {
		t.Errorf("without a node: %v %v %q", a.err, a.Status, a.text)
	}
}

// TestManyPassed: calls beyond the places of all clients are refused. One client address, with all
// its hanging calls, has a quarter of the places and its own share of the memory for bodies: a call
// from another address is passed on.
func TestManyPassed(t *testing.T) {
	t.Parallel()
	free, working := make(chan struct{}), make(chan struct{}, maxPassed)
	r := newRig(t, func(http.ResponseWriter, *http.Request) { working <- struct{}{}; <-free })
	r.passing.Bodies = intake.NewBudget(2 * bodyCopies * 100_000)
	done := make(chan *httptest.ResponseRecorder)
	from := func(address string, body int) *httptest.ResponseRecorder {
		q := httptest.NewRequest(http.MethodGet, "/payments", strings.NewReader(strings.Repeat("x", body)))
		q.RemoteAddr = address + ":4711"
		w := httptest.NewRecorder()
		r.passing.ServeHTTP(w, q.WithContext(t.Context()))
		return w
	}
	hang := func(address string, calls int) {
		for range calls {
			go func() { done <- from(address, 0) }()
		}
		for range calls {
			<-working
		}
	}
	refused := func(why string, w *httptest.ResponseRecorder) {
		t.Helper()
		if w.Code != http.StatusServiceUnavailable || !strings.HasPrefix(w.Body.String(), many) {
			t.Errorf("%s: %d %q", why, w.Code, w.Body)
		}
	}
	hang("192.0.2.1", maxOfAddress)
	for range maxPassed {
		refused("one address", from("192.0.2.1", 0))
	}
	hang("192.0.2.2", maxOfAddress)
	hang("192.0.2.3", maxOfAddress)
	hang("192.0.2.4", maxOfAddress)
	refused("all places", from("192.0.2.5", 0))
	if a := r.do(t, "GET", "/payments/x", "", nil); a.text != "own" {
		t.Errorf("a read of one payment: %v %q", a.Status, a.text)
	}
	close(free)
	for range maxPassed {
		if w := <-done; w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
	}
	if !r.passing.Bodies.Take("192.0.2.1", bodyCopies*100_000) {
		t.Fatal("no memory for one body")
	}
	refused("the memory of an address", from("192.0.2.1", 100_000))
	if w := from("192.0.2.6", 40_000); w.Code != http.StatusOK {
		t.Errorf("a body from another address: %d %q", w.Code, w.Body)
	}
}
