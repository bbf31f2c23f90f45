//go:build system

package clusters

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// refused runs a command that must fail with one line, without the password, that contains a text.
func refused(t *testing.T, want string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	status := command.Run(args, &out, &errs)
	text := errs.String()
	if i := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n"); i >= 0 && args[0] == "serve" { // its log is before it
		text = text[i+1:]
	}
	if status != command.ExitFailure || out.Len() > 0 || strings.Count(text, "\n") != 1 || !strings.Contains(text, want) {
		t.Errorf("%v: status %d, stdout %q, stderr %q; want %q", args, status, out.String(), text, want)
	}
	if strings.Contains(errs.String(), clustertest.Password) {
		t.Errorf("%v: stderr has the password: %s", args, errs.String())
	}
}

func serveArguments(t *testing.T) []string {
	return []string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
}

// TestClusterRefused: one cluster after another has one fault: init and serve refuse it with one
// line, and leave nothing behind.
func TestClusterRefused(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Setenv("PAYLEDGER_MASTER_KEY", strings.Repeat("ab", 32))
	c := clustertest.Start(t, 3, nil).Formed(t)
	as := func(user string) { t.Setenv("PAYLEDGER_NATS_URL", c.URL(user)) }
	as(clustertest.User)
	refused(t, "payledger init --nats-url nats://127.0.0.1", serveArguments(t)...)
	refused(t, "5 replicas need as many servers with JetStream, and the cluster has 3 (n1, n2, n3)", "init", "--nats-replicas", "5")
	as(clustertest.Plain)
	refused(t, "--nats-system-creds", "init")
	as(clustertest.Small)
	refused(t, "limit of streams leaves 6", "init")
	as(clustertest.Bare)
	refused(t, "no JetStream", "init")
	refused(t, "no JetStream", serveArguments(t)...)
	as(clustertest.User)
	if names := apptest.StreamNames(t, apptest.StreamsOf(t, c, clustertest.User)); len(names) > 0 {
		t.Errorf("a refused init made %v", names)
	}
	js := apptest.StreamsOf(t, c, clustertest.User)
	one, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "CHECKPOINTS_1", Subjects: []string{"checkpoints.1.>"}})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "stream CHECKPOINTS_1 with 1 replicas", "init")
	refused(t, "stream CHECKPOINTS_1 has 1 replica(s)", serveArguments(t)...)
	if err := js.DeleteStream(t.Context(), one.CachedInfo().Config.Name); err != nil {
		t.Fatal(err)
	}
	c.Servers[2].Shutdown()
	c.Servers[2].WaitForShutdown()
	untilLed(t, js)
	refused(t, "no answer from the NATS servers [n3]", "init")
}

// untilLed waits until the servers of a cluster have a leader, which lists streams.
func untilLed(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for led := false; !led; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		list := js.StreamNames(ctx)
		for range list.Name() { // no stream is there
		}
		led = list.Err() == nil
		cancel()
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClusterServersRefused: init checks every server of the cluster: here the faulty server is not
// the server that init connects to.
func TestClusterServersRefused(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, func(i int, o *server.Options) {
		switch i {
		case 1:
			o.SyncAlways = false
		case 2:
			o.MaxPayload, o.JetStreamMaxStore = 1<<20, 1<<20
		}
	}).Formed(t)
	t.Setenv("PAYLEDGER_MASTER_KEY", strings.Repeat("ab", 32))
	first, _, _ := strings.Cut(c.URL(clustertest.User), ",")
	t.Setenv("PAYLEDGER_NATS_URL", first)
	for _, want := range []string{
		"NATS server n2 does not sync every write",
		"NATS server n3 takes messages of 1048576 bytes: set max_payload to 4194304",
		"NATS server n3 has 1048576 bytes of storage left",
	} {
		refused(t, want, "init")
	}
	refused(t, "NATS server n2 does not sync every write", serveArguments(t)...)
}

// TestClusterFewerReplicas: a ledger whose streams lost replicas is not served.
func TestClusterFewerReplicas(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	made := apptest.InitCluster(t, c.URL(clustertest.User), "--shards", "1")
	t.Setenv("PAYLEDGER_NATS_URL", c.URL(clustertest.User))
	t.Setenv("PAYLEDGER_MASTER_KEY", strings.Repeat("ab", 32))
	refused(t, "is not the one of this ledger", serveArguments(t)...)
	t.Setenv("PAYLEDGER_MASTER_KEY", made.MasterKey)
	js := apptest.StreamsOf(t, c, clustertest.User)
	stream, err := js.Stream(t.Context(), "LEDGER_0_1")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.Replicas = 1
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	refused(t, "stream LEDGER_0_1 has 1 replica(s)", serveArguments(t)...)
}
