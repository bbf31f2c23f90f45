package natsconf_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	natsconf "payledger/deploy/nats"
)

// patience bounds the waits.
const patience = time.Minute

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.key = newKey(t)
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.file, _ = a.sign("authority", a.cert, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// server signs a certificate for a server on loopback.
func (a *authority) server(name, address string) (cert, key string) {
	return a.sign(name, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		DNSNames: []string{name}, IPAddresses: []net.IP{net.ParseIP(address)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, newKey(a.t))
}

// sign writes a certificate and its key to files.
func (a *authority) sign(name string, template *x509.Certificate, key *ecdsa.PrivateKey) (certFile, keyFile string) {
	a.t.Helper()
	cert, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, err2); err != nil {
		a.t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")
	err = os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600)
	err2 = os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
	if err := errors.Join(err, err2); err != nil {
		a.t.Fatal(err)
	}
	return certFile, keyFile
}

// options reads the configuration for a server, with an address and routes on loopback.
func options(t *testing.T, a *authority, name, address string, routes []*url.URL) *server.Options {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"nats-server.conf", "jetstream.conf", "accounts.conf"} {
		text, err := natsconf.Files.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cert, key := a.server(name, address)
	for variable, value := range map[string]string{
		"NAME": name, "STORE": t.TempDir(), "PASSWORD": "service-secret", "OPERATOR_PASSWORD": "operator-secret", "CERT": cert, "KEY": key, "CA": a.file, "MONITOR": "127.0.0.1:8222",
	} {
		t.Setenv("PAYLEDGER_NATS_"+variable, value)
	}
	o, err := server.ProcessConfigFile(filepath.Join(dir, "nats-server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || o.MaxPayload < 4<<20 || len(o.Routes) != 3 || o.Routes[0].Host != "nats-1:6222" || o.HTTPHost != "127.0.0.1" || !o.Cluster.NoAdvertise {
		t.Fatalf("the configuration has sync always %v, max_payload %d, routes %v", o.SyncAlways, o.MaxPayload, o.Routes)
	}
	o.Host, o.HTTPPort = address, 0
	o.Cluster.Host, o.Routes = address, routes
	o.NoSigs, o.NoLog = true, true
	return o
}

func run(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	s.Start()
	return s
}

// start starts the three servers of the configuration and returns when they have a leader.
func start(t *testing.T, a *authority) (servers []*server.Server) {
	t.Helper()
	network := network(t)
	var routes []*url.URL
	for i := range 3 {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("%s.%d:6222", network, i+1)})
	}
	for i := range 3 {
		servers = append(servers, run(t, options(t, a, fmt.Sprintf("nats-%d", i+1), fmt.Sprintf("%s.%d", network, i+1), routes)))
	}
	for _, s := range servers {
		if !s.ReadyForConnections(patience) {
			t.Fatalf("%s is not ready", s.Name())
		}
	}
	eventually(t, func() error {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 {
				return nil
			}
		}
		return errors.New("the three servers have no leader")
	})
	return servers
}

// network returns the beginning of loopback addresses that no other test uses: the servers have the
// ports of the configuration.
func network(t *testing.T) string {
	t.Helper()
	var b [2]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.%d.%d", 1+b[0]%250, b[1])
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-tick.C:
		}
	}
}

// TestTLS: servers of the configuration form a cluster over TLS. They take no client without TLS
// and no server without a certificate of their authority; a client finds a server of another
// authority out.
func TestTLS(t *testing.T) {
	own, foreign := newAuthority(t), newAuthority(t)
	servers := start(t, own)
	at := servers[0].Addr().String()
	connect := func(url string, more ...nats.Option) error {
		nc, err := nats.Connect(url, append(more, nats.UserInfo("payledger", "service-secret"), nats.Timeout(patience))...)
		if err == nil {
			nc.Close()
		}
		return err
	}
	if err := connect("tls://"+at, nats.RootCAs(own.file)); err != nil {
		t.Errorf("with the authority: %v", err)
	}
	if err := connect("nats://"+at, nats.RootCAs(foreign.file)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with another authority: %v", err)
	}
	if err := connect("tls://"+at, nats.RootCAs(own.file), nats.UserInfo("payledger", "wrong")); err != nil { // the last option wins
		t.Errorf("the right password: %v", err)
	}
	if _, err := nats.Connect("tls://"+at, nats.RootCAs(own.file), nats.Timeout(patience)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a user: %v", err)
	}
	if _, err := nats.Connect("tls://"+at, nats.RootCAs(own.file), nats.UserInfo("payledger", "wrong"), nats.Timeout(patience)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("with a wrong password: %v", err)
	}
	refuses(t, at, "INFO", nil)

	refuses(t, servers[0].ClusterAddr().String(), "", &tls.Config{InsecureSkipVerify: true})
	stranger, err := tls.LoadX509KeyPair(foreign.server("nats-2", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, servers[0].ClusterAddr().String(), "", &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{stranger}})
}

// refuses checks that a server ends a connection that shows no certificate, or does not speak TLS.
func refuses(t *testing.T, address, hello string, config *tls.Config) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if hello != "" { // the server's greeting comes before TLS
		if _, err := fmt.Fprintf(conn, "CONNECT {\"user\":\"payledger\",\"pass\":\"service-secret\"}\r\nPING\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	buffer, all := make([]byte, 4096), ""
	if config != nil {
		secure := tls.Client(conn, config)
		for err == nil {
			_, err = secure.Read(buffer)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s keeps a connection without a certificate", address)
		}
		return
	}
	for err == nil {
		var n int
		n, err = conn.Read(buffer)
		all += string(buffer[:n])
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(all, "PONG") || !strings.Contains(all, hello) {
		t.Errorf("%s answers without TLS: %q, %v", address, all, err)
	}
}

// TestPermissions: the service's user can do what the service does, and nothing else; operators see
// the servers and not the log.
func TestPermissions(t *testing.T) {
	a := newAuthority(t)
	servers := start(t, a)
	connect := func(user, password string, refused chan error) *nats.Conn {
		nc, err := nats.Connect("tls://"+servers[0].Addr().String(), nats.RootCAs(a.file), nats.UserInfo(user, password), nats.Timeout(patience),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	refused := make(chan error, 100)
	service := connect("payledger", "service-secret", refused)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	js, err := jetstream.New(service)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "LEDGER_0_1", Subjects: []string{"ledger.0.1"}, Replicas: 3})
		return err
	})
	eventually(t, func() error { _, err := js.Publish(ctx, "ledger.0.1", []byte("group")); return err })
	if _, err := service.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING.VARZ", nil); err != nil {
		t.Errorf("the service sees the servers' configuration: %v", err)
	}
	for _, subject := range []string{
		"ledger.0", "other", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.ACCOUNT.SYS.INFO", "$JS.API.STREAM.RESTORE.LEDGER_0_1", "$JS.API.META.LEADER.STEPDOWN",
		"$JS.API.STREAM.PEER.REMOVE.LEDGER_0_1", "$JS.API.CONSUMER.DURABLE.CREATE.LEDGER_0_1.x",
	} {
		if err := errors.Join(service.Publish(subject, nil), service.Flush()); err != nil {
			t.Fatal(err)
		}
		awaitRefusal(t, refused, subject)
	}
	for _, subject := range []string{">", "ledger.>", "$SYS.>", "secrets.>"} {
		if _, err := service.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		awaitRefusal(t, refused, subject)
	}
	operator := connect("operator", "operator-secret", make(chan error, 100))
	if _, err := operator.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING", nil); err != nil {
		t.Errorf("operators see the servers: %v", err)
	}
	ojs, err := jetstream.New(operator)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ojs.Stream(ctx, "LEDGER_0_1"); err == nil {
		t.Error("operators see the log")
	}
}

// awaitRefusal waits for the server's refusal of a subject.
func awaitRefusal(t *testing.T, refused chan error, subject string) {
	t.Helper()
	select {
	case err := <-refused:
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), `"`+subject+`"`) {
			t.Errorf("%s: %v", subject, err)
		}
	case <-time.After(patience):
		t.Errorf("%s is allowed", subject)
	}
}
