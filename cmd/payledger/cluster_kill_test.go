package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain/account"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// guillotine is a link from clients to a NATS server. It ends all connections for good after a number of messages that change something.
type guillotine struct {
	listener net.Listener
	target   string
	after    int
	fell     func() // called once, when it fell

	mu    sync.Mutex
	count int
	conns []net.Conn
}

func newGuillotine(t *testing.T, target string, after int, fell func()) *guillotine {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &guillotine{listener: listener, target: target, after: after, fell: sync.OnceFunc(fell)}
	t.Cleanup(g.fall)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go g.link(client)
		}
	}()
	return g
}

func (g *guillotine) url() string {
	return clustertest.At(clustertest.User, g.listener.Addr())
}

func (g *guillotine) link(client net.Conn) {
	server, err := net.Dial("tcp", g.target)
	if err != nil {
		client.Close()
		return
	}
	g.mu.Lock()
	g.conns = append(g.conns, client, server)
	g.mu.Unlock()
	go func() {
		_, _ = io.Copy(client, server) // ends with the connection
		client.Close()
	}()
	defer server.Close()
	for from := bufio.NewReader(client); ; {
		line, err := from.ReadString('\n')
		if err != nil {
			return
		}
		message, change := []byte(line), false
		if words := strings.Fields(line); len(words) > 2 && (words[0] == "PUB" || words[0] == "HPUB") {
			size, err := strconv.Atoi(words[len(words)-1])
			if err != nil {
				return
			}
			message = append(message, make([]byte, size+2)...)
			if _, err := io.ReadFull(from, message[len(line):]); err != nil {
				return
			}
			change = changes(words[1])
		}
		if _, err := server.Write(message); err != nil || change && g.counted() {
			return
		}
	}
}

// changes reports whether a message on a subject may change the log.
func changes(subject string) bool {
	api, ofAPI := strings.CutPrefix(subject, "$JS.API.STREAM.")
	if !ofAPI {
		return !strings.HasPrefix(subject, "$") && !strings.HasPrefix(subject, "_INBOX") && subject != "payledger.init" && subject != "payledger.node"
	}
	verb, _, _ := strings.Cut(api, ".")
	return verb == "CREATE" || verb == "UPDATE" || verb == "DELETE" || verb == "PURGE" || strings.HasPrefix(api, "MSG.DELETE")
}

// counted counts one change, and reports whether it was the last one.
func (g *guillotine) counted() bool {
	g.mu.Lock()
	g.count++
	last := g.count == g.after
	g.mu.Unlock()
	if last {
		g.fall()
		g.fell()
	}
	return last
}

func (g *guillotine) fall() {
	g.listener.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.Close()
	}
}

// TestClusterInitCutShort cuts an init short after each of its changes. No service starts on the rest, and the next init, with another
// master key, completes it.
func TestClusterInitCutShort(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, func(_ int, o *server.Options) { o.Cluster.NoAdvertise = true }).Formed(t)
	js := streamsOf(t, c, clustertest.User)
	r := &cutRig{c: c, url: c.URL(clustertest.User)}
	for after, ended := 1, false; !ended; after++ {
		var made *ledger.Made
		made, ended = r.cut(t, after)
		if made == nil || !r.claimed(t, made.MasterKey) {
			made = r.complete(t, after)
		}
		r.serves(t, made)
		for _, name := range streamNames(t, js) {
			if err := js.DeleteStream(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		if ended && after < 10 {
			t.Fatalf("an init made %d changes only", after-1)
		}
	}
}

type cutRig struct {
	c   *clustertest.Cluster
	url string
}

// cut runs an init that is cut short after some changes. It returns what the init printed, and whether the init ended before the cut.
func (r *cutRig) cut(t *testing.T, after int) (printed *ledger.Made, ended bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := newGuillotine(t, r.c.Servers[after%3].Addr().String(), after, cancel)
	init := ledger.Cluster{
		NATS: options.NATS{NatsURL: g.url()}, Replicas: 3, Shards: 1, Environment: account.Sandbox, MasterKey: strings.Repeat("ab", 32),
	}
	err := init.Make(ctx, func(m ledger.Made) error { printed = &m; return nil })
	g.fall()
	if ended = ctx.Err() == nil; ended != (err == nil) {
		t.Fatalf("an init that was cut after change %d: %v", after, err)
	}
	t.Logf("cut after change %d: %v", after, err)
	return printed, ended
}

// claimed reports whether the cluster holds a ledger with an account. If not, a start of the service must fail.
func (r *cutRig) claimed(t *testing.T, key string) bool {
	t.Helper()
	app, err := r.start(t, key)
	if err == nil {
		err = app.Stop()
	} else if strings.Contains(err.Error(), "payledger init") {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

func (r *cutRig) start(t *testing.T, key string) (*App, error) {
	o := testOptions(t.TempDir())
	o.NatsURL, o.MasterKey = r.url, key
	return Start(t.Context(), o, zerolog.Nop())
}

// complete runs init again. The service must not start before.
func (r *cutRig) complete(t *testing.T, after int) (made *ledger.Made) {
	t.Helper()
	if r.claimed(t, strings.Repeat("ab", 32)) {
		t.Fatalf("after change %d the service took a ledger whose credentials nobody has", after)
	}
	again := ledger.Cluster{NATS: options.NATS{NatsURL: r.url}, Replicas: 3, Environment: account.Sandbox}
	if err := again.Make(t.Context(), func(m ledger.Made) error { made = &m; return nil }); err != nil {
		t.Fatalf("init after an init that was cut after change %d: %v", after, err)
	}
	return made
}

// serves checks that the service starts, and takes the API key.
func (r *cutRig) serves(t *testing.T, made *ledger.Made) {
	t.Helper()
	app, err := r.start(t, made.MasterKey)
	if err != nil {
		t.Fatal(err)
	}
	m := newMerchant(app.api.URL, made.APIKey)
	m.must(t, "GET", "/payments", m.headers(), nil)
	if err := app.Stop(); err != nil {
		t.Error(err)
	}
}
