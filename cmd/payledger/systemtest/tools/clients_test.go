//go:build system

package tools

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
)

// TestGeneratedClients: clients that others' generators make of openapi.yaml compile, and pay at
// the program as it is run. The languages take turns.
func TestGeneratedClients(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	p := apptest.ServeProcess(t, "--data", t.TempDir())
	paid := map[string]string{}
	pay := map[string]func(testing.TB, string, string) (string, bool){"Go": payWithGo, "TypeScript": payWithTypeScript}
	for i, language := range slices.Sorted(maps.Keys(pay)) {
		if !seedtest.Turn(i, len(pay)) {
			continue
		}
		if payment, there := pay[language](t, p.Ready.API, p.Credentials.APIKey); there {
			paid[language] = payment
		}
	}
	for language, id := range paid {
		payment, text := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey).Read(t, id)
		if payment.Status != "SETTLED" || payment.Amount != 2500 || !strings.Contains(string(text), `"amountCaptured":2500,"amountRefunded":400`) {
			t.Errorf("%s: %s", language, text)
		}
	}
	p.Stop()
}
