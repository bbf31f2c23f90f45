//go:build system

package clusters

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// pair makes a certificate for 127.0.0.1 that signs itself, as files and as the configuration of a
// server that wants it of its clients.
func pair(t *testing.T) (certificate, key string, config *tls.Config) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
	own, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	config = &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	return apptest.SecretFile(t, string(certPEM)), apptest.SecretFile(t, string(keyPEM)), config
}

// operated are the keys and tokens of NATS servers whose accounts and users are signed by an
// operator.
type operated struct {
	operator        *jwt.OperatorClaims
	system          string
	accounts        map[string]string // token by account
	creds, sysCreds string            // files
}

func newOperated(t *testing.T) *operated {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	create := func(kind func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		key, err := kind()
		must(err)
		public, err := key.PublicKey()
		must(err)
		return key, public
	}
	operator, name := create(nkeys.CreateOperator)
	o := &operated{operator: jwt.NewOperatorClaims(name), accounts: map[string]string{}}
	account := func(unlimited bool) (string, string) {
		key, public := create(nkeys.CreateAccount)
		claims := jwt.NewAccountClaims(public)
		if unlimited {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, MemoryStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		}
		token, err := claims.Encode(operator)
		must(err)
		o.accounts[public] = token
		user, userName := create(nkeys.CreateUser)
		token, err = jwt.NewUserClaims(userName).Encode(key)
		must(err)
		seed, err := user.Seed()
		must(err)
		file, err := jwt.FormatUserConfig(token, seed)
		must(err)
		return public, apptest.SecretFile(t, string(file))
	}
	o.system, o.sysCreds = account(false)
	_, o.creds = account(true)
	return o
}

// TestClusterTLS: between payledger and the servers, and between the servers, mutual TLS; users
// have credentials files. Without one of the files nothing works.
func TestClusterTLS(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	certificate, key, config := pair(t)
	signed := newOperated(t)
	c := clustertest.Start(t, 3, func(_ int, o *server.Options) {
		own := *o
		*o = server.Options{
			ServerName: own.ServerName, Host: own.Host, Port: own.Port, StoreDir: own.StoreDir, NoSigs: true, NoLog: true, JetStream: true,
			SyncAlways: true, MaxPayload: own.MaxPayload, Cluster: own.Cluster, Routes: own.Routes, SystemAccount: signed.system,
			TrustedOperators: []*jwt.OperatorClaims{signed.operator}, TLS: true, TLSVerify: true, TLSConfig: config.Clone(), TLSTimeout: 60, AuthTimeout: 60,
		}
		o.Cluster.TLSConfig, o.Cluster.TLSTimeout = config.Clone(), 60
		accounts := &server.MemAccResolver{}
		for account, token := range signed.accounts {
			if err := accounts.Store(account, token); err != nil {
				t.Fatal(err)
			}
		}
		o.AccountResolver = accounts
	}).Formed(t)
	t.Setenv("PAYLEDGER_NATS_URL", "nats://"+c.Servers[1].Addr().String())
	t.Setenv("PAYLEDGER_MASTER_KEY", strings.Repeat("ab", 32))
	flags := []string{"--nats-ca", certificate, "--nats-cert", certificate, "--nats-key", key, "--nats-creds", signed.creds}
	refused(t, "certificate signed by unknown authority", append([]string{"init"}, flags[6:]...)...)
	refused(t, "connect to nats://127.0.0.1", append([]string{"init"}, append(flags[:2:2], flags[6:]...)...)...)
	refused(t, "connect to nats://127.0.0.1", append([]string{"init"}, flags[:6]...)...)
	refused(t, "or give the credentials of a system user with --nats-system-creds", append([]string{"init"}, flags...)...)
	refused(t, "--nats-system-creds is not of a user of the NATS system account", append([]string{"init", "--nats-system-creds", signed.creds}, flags...)...)
	made := apptest.InitCluster(t, "nats://"+c.Servers[1].Addr().String(), append([]string{"--nats-system-creds", signed.sysCreds}, flags...)...)
	a := apptest.ServeProcess(t, append([]string{"--data", t.TempDir()}, flags...)...)
	m := apptest.NewMerchant(a.Ready.API, made.APIKey)
	m.Must(t, "GET", "/payments", m.Headers(), nil)
	a.Stop()
	if !strings.Contains(a.Log.String(), "it is not checked that all NATS servers sync every write") {
		t.Errorf("the log does not warn that the servers were not checked: %s", a.Log)
	}
}
