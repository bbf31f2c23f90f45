package apptest

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"payledger/cmd/payledger/app"
	"payledger/eventstore/engine"
)

// filledSession is a session with the order and customer fields that a shop sends; %s is the
// order's id.
const filledSession = `{"orderId":"%[1]s","customerId":"customer-%[1]s","currencyCode":"EUR","amount":2500,
"order":{"lineItems":[
 {"itemId":"sku-1","name":"Notebook","description":"Ruled, 96 pages","amount":1000,"quantity":2,"taxAmount":380,"productType":"PHYSICAL",
  "productData":{"sku":"NB-96-R","brand":"North","color":"blue","globalTradeItemNumber":"36000000000008","weight":0.4,"weightUnit":"kg","pageUrl":"https://shop.example/notebook"}},
 {"itemId":"sku-2","name":"Pen","amount":500,"quantity":1,"productType":"PHYSICAL"}],
 "shipping":{"amount":0,"methodId":"post","methodName":"Post"},"countryCode":"GB"},
"customer":{"emailAddress":"ada.%[1]s@example.com","mobileNumber":"+441234567890","firstName":"Ada","lastName":"Lovelace",
 "billingAddress":{"firstName":"Ada","lastName":"Lovelace","addressLine1":"12 St James's Square","addressLine2":"Floor 2","city":"London","state":"LDN","countryCode":"GB","postalCode":"SW1Y 4JH"},
 "shippingAddress":{"firstName":"Ada","lastName":"Lovelace","addressLine1":"1 Rue de la Paix","city":"Paris","countryCode":"FR","postalCode":"75002"}},
"metadata":{"shop":"north","basket":4711,"gift":true,"campaign":"spring-%[1]s"},
"paymentMethod":{"descriptor":"NORTH SHOP","authorizationType":"ESTIMATED","paymentType":"ECOMMERCE"}}`

// Weigh makes one payment and captures it, both with a key.
func (m *Merchant) Weigh(t *testing.T, order string) {
	t.Helper()
	var session struct{ ClientToken string }
	m.Must(t, "POST", "/client-session", m.Headers(), fmt.Sprintf(filledSession, order)).Decode(t, &session)
	var tool struct{ Token string }
	m.Must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{
		"paymentInstrument": map[string]any{"number": "4111111111111111", "cvv": "737", "expirationMonth": "03", "expirationYear": Expires, "cardholderName": "Ada Lovelace"},
	}).Decode(t, &tool)
	a, err := m.Pay(tool.Token, "create-"+order)
	if err != nil || a.Status != http.StatusOK {
		t.Errorf("create answered %s %v", a.Body, err)
		return
	}
	header := m.Headers()
	header["X-Idempotency-Key"] = "capture-" + order
	m.Must(t, "POST", "/payments/"+Decoded[PaymentAnswer](t, a).ID+"/capture", header, nil)
}

// LogSize returns the present size of the log.
func LogSize(t *testing.T, a *app.App) engine.Size {
	t.Helper()
	size, err := a.Ledger.Store.Size(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// OnDisk returns the size of each part of a data folder on the disk, in bytes.
func OnDisk(t testing.TB, dir string) map[string]int64 {
	t.Helper()
	bytes := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), "ballast") {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		bytes[folderOf(inside)] += info.Sys().(*syscall.Stat_t).Blocks * 512
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// folderOf returns the part of the ledger that a file belongs to: a stream, the tip store, the
// views.
func folderOf(path string) string {
	parts := strings.Split(path, string(filepath.Separator))
	for i, part := range parts {
		if part == "streams" && i+1 < len(parts) {
			name, _, _ := strings.Cut(parts[i+1], "_")
			return "stream " + name
		}
	}
	if len(parts) > 2 {
		return filepath.Join(parts[:2]...)
	}
	return parts[0]
}
