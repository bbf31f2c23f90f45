package apptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain/account"
	"payledger/eventstore/clustertest"
)

// InitCluster runs `payledger init` for a cluster, and returns what it printed.
func InitCluster(t testing.TB, url string, args ...string) ledger.Made {
	t.Helper()
	status, out, errs := RunInit(t, url, append(args, "--json")...)
	if status != 0 {
		t.Fatalf("init: status %d: %s", status, errs)
	}
	var made ledger.Made
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return made
}

// RunInit runs the command init on a cluster.
func RunInit(t testing.TB, url string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = command.Run(append([]string{"init", "--nats-url", url}, args...), &out, &errs)
	if strings.Contains(errs.String(), clustertest.Password) || strings.Count(errs.String(), "\n") > 1 {
		t.Errorf("stderr has a password, or more than one line: %s", errs.String())
	}
	return status, out.String(), errs.String()
}

// guillotine is a link from clients to a NATS server. It ends all connections for good after a
// number of messages that change something.
type guillotine struct {
	listener net.Listener
	target   string
	after    int
	fell     func() // called once, when it fell

	mu    sync.Mutex
	count int
	conns []net.Conn
}

// NewGuillotine opens a link to target that is cut after a number of changes, and then calls fell.
func NewGuillotine(t *testing.T, target string, after int, fell func()) *guillotine {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &guillotine{listener: listener, target: target, after: after, fell: sync.OnceFunc(fell)}
	t.Cleanup(g.Fall)
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

func (g *guillotine) URL() string {
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
		g.Fall()
		g.fell()
	}
	return last
}

func (g *guillotine) Fall() {
	g.listener.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.Close()
	}
}

// CutRig is a cluster whose init is cut short.
type CutRig struct {
	C   *clustertest.Cluster
	URL string
}

// Cut runs an init that is cut short after some changes. It returns what the init printed, and
// whether the init ended before the cut.
func (r *CutRig) Cut(t *testing.T, after int) (printed *ledger.Made, ended bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := NewGuillotine(t, r.C.Servers[after%3].Addr().String(), after, cancel)
	init := ledger.Cluster{
		NATS: options.NATS{NatsURL: g.URL()}, Replicas: 3, Shards: 1, Environment: account.Sandbox, MasterKey: strings.Repeat("ab", 32),
	}
	err := init.Make(ctx, func(m ledger.Made) error {
		m.MasterKey = init.MasterKey // it was given, so it is not shown
		printed = &m
		return nil
	})
	g.Fall()
	if ended = ctx.Err() == nil; ended != (err == nil) {
		t.Fatalf("an init that was cut after change %d: %v", after, err)
	}
	t.Logf("cut after change %d: %v", after, err)
	return printed, ended
}

// Claimed reports whether the cluster holds a ledger with an account. If not, a start of the
// service must fail.
func (r *CutRig) Claimed(t *testing.T, key string) bool {
	t.Helper()
	app, err := r.Start(t, key)
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

// Start starts a service on the cluster.
func (r *CutRig) Start(t *testing.T, key string) (*app.App, error) {
	o := TestOptions(t.TempDir())
	o.NatsURL, o.MasterKey = r.URL, key
	return app.Start(t.Context(), o, zerolog.Nop())
}

// Complete runs init again. The service must not start before.
func (r *CutRig) Complete(t *testing.T, after int) (made *ledger.Made) {
	t.Helper()
	if r.Claimed(t, strings.Repeat("ab", 32)) {
		t.Fatalf("after change %d the service took a ledger whose credentials nobody has", after)
	}
	again := ledger.Cluster{NATS: options.NATS{NatsURL: r.URL}, Replicas: 3, Environment: account.Sandbox}
	if err := again.Make(t.Context(), func(m ledger.Made) error { made = &m; return nil }); err != nil {
		t.Fatalf("init after an init that was cut after change %d: %v", after, err)
	}
	return made
}

// Serves checks that the service starts, and takes the API key.
func (r *CutRig) Serves(t *testing.T, made *ledger.Made) {
	t.Helper()
	app, err := r.Start(t, made.MasterKey)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMerchant(app.API.URL, made.APIKey)
	m.Must(t, "GET", "/payments", m.Headers(), nil)
	if err := app.Stop(); err != nil {
		t.Error(err)
	}
}

// FreeAddress returns an address of this machine on which nothing listens. Its IP address is
// random: other programs that let the system choose a port get one of 127.0.0.1, and never this one
// while the service is not running.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// StreamsOf returns the JetStream of a user, to look at its streams and change them.
func StreamsOf(t *testing.T, c *clustertest.Cluster, user string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(c.URL(user))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// StreamNames returns the names of all streams, sorted.
func StreamNames(t *testing.T, js jetstream.JetStream) (names []string) {
	t.Helper()
	list := js.StreamNames(t.Context())
	for name := range list.Name() {
		names = append(names, name)
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}
