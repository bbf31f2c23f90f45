package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

var weighed = flag.Int("weighed", 200, "how many payments TestBytes makes")

// weighedUsers is how many connections TestBytes pays over.
const weighedUsers = 16

// filledSession is a session with the order and customer fields that a shop sends; %s is the order's id.
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

// TestBytes: a payment with its session, card, capture and webhooks takes no more of the disk than promised, where
// others are made beside it. For figures: -weighed 2000.
func TestBytes(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	dir := t.TempDir()
	app := startApp(t, testOptions(dir))
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(shop.Close)
	m.must(t, "POST", "/management/webhook-endpoints", m.headers(), map[string]any{"url": shop.URL})
	before, held := onDisk(t, dir), app.logSize(t)
	n := *weighed
	var running sync.WaitGroup
	for user := range weighedUsers {
		running.Go(func() {
			for i := user; i < n; i += weighedUsers {
				m.weigh(t, fmt.Sprintf("order-%06d", i))
			}
		})
	}
	running.Wait()
	eventually(t, func() bool {
		var page struct {
			Data []struct{} `json:"data"`
		}
		m.must(t, "GET", "/management/webhook-deliveries?limit=1&outcome=PLANNED,FAILED", m.headers(), nil).decode(t, &page)
		return len(page.Data) == 0
	})
	log := app.logSize(t)
	each := float64(log.Bytes-held.Bytes) / float64(n)
	t.Logf("%.0f bytes of the log a payment, %.1f events of %d bytes, %.2f a group", each, float64(log.Events-held.Events)/float64(n),
		log.EventBytes, float64(log.Events-held.Events)/float64(log.Groups-held.Groups))
	if each > 12000 { // every event is in its own group, as with few requests
		t.Errorf("a payment takes %.0f bytes of the log", each)
	}
	for name, bytes := range onDisk(t, dir) {
		t.Logf("%6d bytes a payment: %s", (bytes-before[name])/int64(n), name)
	}
}

// weigh makes one payment and captures it, both with a key.
func (m *merchant) weigh(t *testing.T, order string) {
	t.Helper()
	var session struct{ ClientToken string }
	m.must(t, "POST", "/client-session", m.headers(), fmt.Sprintf(filledSession, order)).decode(t, &session)
	var tool struct{ Token string }
	m.must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{
		"paymentInstrument": map[string]any{"number": "4111111111111111", "cvv": "737", "expirationMonth": "03", "expirationYear": expires, "cardholderName": "Ada Lovelace"},
	}).decode(t, &tool)
	a, err := m.pay(tool.Token, "create-"+order)
	if err != nil || a.status != http.StatusOK {
		t.Errorf("create answered %s %v", a.body, err)
		return
	}
	header := m.headers()
	header["X-Idempotency-Key"] = "capture-" + order
	m.must(t, "POST", "/payments/"+decoded[paymentAnswer](t, a).ID+"/capture", header, nil)
}

// logSize returns the present size of the log.
func (a *App) logSize(t *testing.T) eventstore.Size {
	t.Helper()
	size, err := a.ledger.Store.Size(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// onDisk returns the size of each part of a data folder on the disk, in bytes.
func onDisk(t testing.TB, dir string) map[string]int64 {
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
