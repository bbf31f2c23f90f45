package verify_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/eventstore/clustertest"
	"payledger/eventstore/external"
)

// TestReadOnlyUser: a NATS user that may only read verifies the log. For one that may not read a
// stream, the error names the right that is missing.
func TestReadOnlyUser(t *testing.T) {
	t.Parallel()
	l, all := makeTemplate(t)
	c := clustertest.Start(t, 1, func(_ int, o *server.Options) {
		for _, u := range o.Users {
			if u.Username != clustertest.User {
				continue
			}
			reads := []string{"$JS.API.STREAM.LIST", "$JS.API.STREAM.MSG.GET.>", "$JS.API.DIRECT.GET.>"}
			for name, denied := range map[string][]string{"reader": nil, "partial": {"$JS.API.*.GET.LEDGER_1_1", "$JS.API.STREAM.MSG.GET.LEDGER_1_1"}, "stranger": {"$JS.API.STREAM.LIST"}} {
				o.Users = append(o.Users, &server.User{
					Username: name, Password: clustertest.Password, Account: u.Account, Permissions: &server.Permissions{
						Publish:   &server.SubjectPermission{Allow: reads, Deny: denied},
						Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
					},
				})
			}
			return
		}
	})
	nc, err := external.Access{URL: c.URL(clustertest.User)}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	serve(t, nc, nil, all)
	if faults, result := l.served(t, external.Access{URL: c.URL("reader")}, nil); len(faults) > 0 || result.Checkpoints == 0 {
		t.Errorf("a user that may read: %v %+v", faults, result)
	}
	for user, want := range map[string]string{"partial": "GET.LEDGER_1_1", "stranger": "$JS.API.STREAM.LIST"} {
		faults, _ := l.served(t, external.Access{URL: c.URL(user)}, nil)
		if len(faults) != 1 || !strings.Contains(faults[0].String(), "the NATS user lacks a right") || !strings.Contains(faults[0].String(), want) {
			t.Errorf("%s: %v", user, faults)
		}
	}
}
