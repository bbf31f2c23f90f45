//go:build system

package clusters

import (
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/docs/docstest"
)

// TestRunbookCluster: servers with the small configuration of the runbook pass the checks of init,
// and nodes serve from them.
func TestRunbookCluster(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	text := strings.NewReplacer("$SYSTEM_PASSWORD", "s", "$LEDGER_PASSWORD", `"`+clustertest.Password+`"`).Replace(docstest.Block(t, docstest.Runbook, "conf"))
	c := clustertest.Start(t, 3, func(_ int, o *server.Options) {
		own := *o
		*o = server.Options{}
		if err := o.ProcessConfigString(text); err != nil {
			t.Fatal(err)
		}
		o.ServerName, o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = own.ServerName, own.Host, own.Port, own.StoreDir, true, true
		o.Cluster, o.Routes = own.Cluster, own.Routes
	}).Formed(t)
	made := apptest.InitCluster(t, c.URL(clustertest.User))
	r := &apptest.CutRig{C: c, URL: c.URL(clustertest.User)}
	r.Serves(t, &made)
}
