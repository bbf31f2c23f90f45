//go:build system

package tools

import (
	"fmt"
	"testing"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
)

// warehouse starts a service with a payment of each card, and adds an analyst. EVENTS has all
// events when it returns.
func warehouse(t *testing.T, cards ...string) (service *app.App, m *apptest.Merchant, credentials string) {
	t.Helper()
	dir := t.TempDir()
	o := apptest.TestOptions(dir)
	o.NatsListen = "127.0.0.1:0"
	service = apptest.StartApp(t, o)
	m = apptest.NewMerchant(service.API.URL, service.Credentials.APIKey)
	for i, card := range cards {
		if _, err := m.Pay(m.Token(t, fmt.Sprint("order-", i+1), 1000, card), ""); err != nil {
			t.Fatal(err)
		}
	}
	status, credentials, text := apptest.Invoke(t, "analytics-user", "warehouse", "--data", dir)
	if status != 0 {
		t.Fatalf("analytics-user: status %d, %s", status, text)
	}
	size := apptest.Events(t, service)
	apptest.Eventually(t, func() bool { return service.Feed.Position() >= size })
	return service, m, credentials
}
