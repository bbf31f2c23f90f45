package eventstream_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/eventstream"
)

func TestMain(m *testing.M) {
	flag.Parse()
	eventstoretest.RunWithoutLeaks(m)
}

// The merchants of the tests.
const ours, theirs = "0ours", "0theirs"

// derive returns the secret of a purpose.
func derive(purpose string) []byte { sum := sha256.Sum256([]byte(purpose)); return sum[:] }

// rig is a server with a stream in which the events of two merchants alternate.
type rig struct {
	*eventstream.Server
	writer *eventstream.Stream
	last   uint64
	lost   *atomic.Int64 // connections of gates
}

func newRig(t testing.TB, memory int64) *rig {
	t.Helper()
	lost := &atomic.Int64{}
	server, err := eventstream.Start(eventstream.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Derive: derive, Memory: memory, Lost: func(string) { lost.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	writer, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.Close)
	r := &rig{Server: server, writer: writer, lost: lost}
	if err := writer.Create(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	r.write(t, 20, 10)
	return r
}

// write appends n events, alternately of the two merchants, each with a body of at least size
// bytes.
func (r *rig) write(t testing.TB, n, size int) {
	t.Helper()
	for range n {
		r.last++
		account := []string{theirs, ours}[r.last%2]
		body := fmt.Sprintf(`{"position":%d,"accountId":%q,"fill":%q}`, r.last, account, strings.Repeat("x", size))
		if err := r.writer.Publish(t.Context(), eventstream.Message{Position: r.last, Account: account, Type: "payment.captured", ID: "id", Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.writer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// credentials adds a user to an account, and returns the path of the user's credentials file.
func (r *rig) credentials(t testing.TB, account string, others ...eventstream.User) (path string, user eventstream.User) {
	t.Helper()
	text, key, err := r.Credentials(account, "analyst")
	if err != nil {
		t.Fatal(err)
	}
	user = eventstream.User{Name: "analyst", Key: key}
	if err := r.SetUsers(map[string][]eventstream.User{account: append(others, user)}); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, user
}

// patience is the longest wait for an expected result, patient the wait for connections. A good run
// never takes them.
const patience = time.Minute

var patient = nats.Timeout(patience)

// user is a connection of an analyst.
type user struct {
	*nats.Conn
	js      jetstream.JetStream
	refused chan error // asynchronous errors of the server
}

func (r *rig) connect(t testing.TB, path string) *user {
	t.Helper()
	u := &user{refused: make(chan error, 64)}
	dial := func() (err error) {
		u.Conn, err = nats.Connect(r.URL(), nats.UserCredentials(path), nats.NoReconnect(), patient, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			select {
			case u.refused <- err:
			default:
			}
		}))
		return err
	}
	err := dial()
	for until := time.Now().Add(patience); err != nil && strings.Contains(err.Error(), "maximum account active connections exceeded") && time.Now().Before(until); err = dial() {
		runtime.Gosched() // the server sees the end of an earlier connection a moment later
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	if u.js, err = jetstream.New(u.Conn, jetstream.WithDefaultTimeout(patience)); err != nil {
		t.Fatal(err)
	}
	return u
}

// read returns the sequences and subjects of n messages of a consumer.
func read(t testing.TB, c jetstream.Consumer, n int) (sequences []uint64, subjects []string) {
	t.Helper()
	for len(sequences) < n {
		batch, err := c.Fetch(n-len(sequences), jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		before := len(sequences)
		for m := range batch.Messages() {
			at, err := m.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			sequences, subjects = append(sequences, at.Sequence.Stream), append(subjects, m.Subject())
			if c.CachedInfo().Config.AckPolicy == jetstream.AckExplicitPolicy {
				if err := m.DoubleAck(t.Context()); err != nil {
					t.Fatal("acknowledgement: ", err)
				}
			}
		}
		if batch.Error() != nil || len(sequences) == before {
			t.Fatalf("after %d of %d messages: %v", len(sequences), n, batch.Error())
		}
	}
	return sequences, subjects
}

// certified returns a certificate for 127.0.0.1, and the roots that verify it.
func certified(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, roots
}
