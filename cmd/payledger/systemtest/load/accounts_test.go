//go:build system

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"syscall"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/intake"
)

// another returns a merchant of a further account of the running service.
func another(t *testing.T, data, api string) *apptest.Merchant {
	t.Helper()
	status, out, said := apptest.Invoke(t, "account", "create", "another shop", "--data", data, "--json")
	var made accounts.Credentials
	if err := json.Unmarshal([]byte(out), &made); err != nil || status != 0 {
		t.Fatalf("account create: %d %s%s", status, out, said)
	}
	return apptest.NewMerchant(api, made.APIKey)
}

// unread opens connections, each with a request whose answer is not read beyond its head. refused
// is the number of 503 with Retry-After; all others are 200.
func unread(t *testing.T, m *apptest.Merchant, path string, n int) (held []net.Conn, refused int) {
	t.Helper()
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) }), err)
	}}
	request := "GET " + path + " HTTP/1.1\r\nHost: a\r\n"
	for name, value := range m.Headers() {
		request += name + ": " + value + "\r\n"
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for range n {
		asking.Go(func() {
			conn, err := small.DialContext(t.Context(), "tcp", strings.TrimPrefix(m.API, "http://"))
			if err == nil {
				_, err = conn.Write([]byte(request + "\r\n"))
			}
			if err != nil {
				t.Error(err)
				return
			}
			reader := textproto.NewReader(bufio.NewReaderSize(conn, 512))
			status, err := reader.ReadLine()
			if err != nil {
				t.Error(err)
				return
			}
			head, err := reader.ReadMIMEHeader()
			mu.Lock()
			defer mu.Unlock()
			held = append(held, conn)
			switch {
			case err == nil && strings.HasPrefix(status, "HTTP/1.1 200"):
			case err == nil && strings.HasPrefix(status, "HTTP/1.1 503") && head.Get("Retry-After") != "":
				refused++
			default:
				t.Errorf("answered %s %v %v", status, head, err)
			}
		})
	}
	asking.Wait()
	return held, refused
}

func closed(conns []net.Conn) {
	for _, conn := range conns {
		conn.Close()
	}
}

// TestSlowReadersOfOneAccount: 180 connections of one account ask for a large answer and read
// nothing of it. Beyond the account's share of the memory they get 503. Another account's lists and
// payments succeed meanwhile. When the connections have ended, all memory is free again.
func TestSlowReadersOfOneAccount(t *testing.T) {
	t.Parallel()
	const readers = 180
	dir := t.TempDir()
	p := apptest.ServeProcess(t, "--data", dir, "--memory", "256MiB", "--write-timeout", "1h")
	greedy, other := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey), another(t, dir, p.Ready.API)
	for range 8 {
		largePayment(t, greedy)
	}
	const large = "/events?limit=30"
	apptest.Eventually(t, func() bool { // events have their positions a moment after the commands' answers
		a, err := greedy.Call("GET", large, greedy.Headers(), nil)
		return err == nil && a.Status == http.StatusOK && len(a.Body) > 1<<20 // more than the kernel's buffers take
	})
	other.Paid(t, apptest.CardApproved)
	held, refused := unread(t, greedy, large, readers)
	defer func() { closed(held) }()
	served := readers - refused
	if served == 0 || refused == 0 {
		t.Fatalf("%d of the answers began, %d were refused", served, refused)
	}
	for range 20 {
		if a, err := other.Call("GET", "/payments?limit=100", other.Headers(), nil); err != nil || a.Status != http.StatusOK {
			t.Errorf("a list of the other account: %d %s %v", a.Status, a.Body, err)
		}
	}
	if paid := other.Paid(t, apptest.CardApproved); paid.Status != "AUTHORIZED" {
		t.Errorf("a payment of the other account is %s", paid.Status)
	}
	if a, err := greedy.Call("GET", large, greedy.Headers(), nil); err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("one more answer of the account: %d %v %v", a.Status, a.Header, err)
	}
	if metrics := apptest.GetText(t, p.Ready.Admin+"/metrics", http.StatusOK); !strings.Contains(metrics, fmt.Sprintf("payledger_refused_total{limit=\"memory\"} %d", refused+1)) {
		t.Errorf("%d answers were refused, /metrics has another number", refused+1)
	}
	closed(held)
	held = nil
	apptest.Eventually(t, func() bool { // as many answers begin as before, and are under way together
		one, refused := unread(t, greedy, large, 1)
		if refused > 0 {
			closed(one)
			return false
		}
		held = append(held, one...)
		return len(held) == served
	})
	t.Logf("%d of %d answers of the account began", served, readers)
}

// largePayment makes a payment that is almost as large as an object may be.
func largePayment(t *testing.T, m *apptest.Merchant) {
	t.Helper()
	items := make([]map[string]any, 80)
	for i := range items {
		items[i] = map[string]any{"itemId": fmt.Sprint(i), "description": strings.Repeat("x", 1000), "name": strings.Repeat("y", 200), "amount": 1}
	}
	var session struct{ ClientToken string }
	m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{"orderId": "large", "currencyCode": "EUR", "order": map[string]any{"lineItems": items}}).Decode(t, &session)
	var tool struct{ Token string }
	m.Must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{"paymentInstrument": map[string]any{
		"number": apptest.CardApproved, "cvv": "737", "expirationMonth": "03", "expirationYear": apptest.Expires, "cardholderName": "Ada Lovelace",
	}}).Decode(t, &tool)
	if made, err := m.Pay(tool.Token, ""); err != nil || made.Status != http.StatusOK {
		t.Fatalf("%d %s %v", made.Status, made.Body, err)
	}
}

// TestRequestsOfOneAccount: an account whose requests take every place, and all room to wait that
// it may have, is refused. Another account's request waits, and is served at its turn: not after
// all requests of the first one.
func TestRequestsOfOneAccount(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.MaxRequests = 2
	app := apptest.StartApp(t, o)
	greedy, other := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey), another(t, o.Data, app.Ready().API)
	gate, who := app.Intake.Gate, string(app.Credentials.AccountID)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var held []*intake.Place
	for range o.MaxRequests {
		place, ok := gate.Enter(ctx, intake.Owner{Name: who})
		if !ok {
			t.Fatal("no place")
		}
		held = append(held, place)
	}
	granted, turned := make(chan *intake.Place, 100), make(chan bool, 100)
	full := 0
	for ; ; full++ {
		waiting := full
		go func() {
			place, ok := gate.Enter(ctx, intake.Owner{Name: who})
			if turned <- ok; ok {
				granted <- place
			}
		}()
		apptest.Eventually(t, func() bool { return gate.Waiting() > waiting || len(turned) > 0 })
		if gate.Waiting() == waiting {
			break
		}
	}
	if a, err := greedy.Call("GET", "/payments", greedy.Headers(), nil); err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("the account with %d waiting requests: %d %v %v", full, a.Status, a.Header, err)
	}
	answered := make(chan apptest.Answer, 1)
	go func() {
		a, err := other.Call("GET", "/payments", other.Headers(), nil)
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	apptest.Eventually(t, func() bool { return gate.Waiting() == full+1 || len(answered) > 0 }) // or it is refused
	held[0].Leave()                                                                             // to the account's oldest request
	(<-granted).Leave()
	if a := <-answered; a.Status != http.StatusOK || gate.Waiting() < full-2 {
		t.Errorf("the other account: %d, %d requests of the first one still wait, of %d", a.Status, gate.Waiting(), full)
	}
	cancel()
	held[1].Leave()
	apptest.Eventually(t, func() bool { return gate.Waiting() == 0 })
	for len(granted) > 0 {
		(<-granted).Leave()
	}
	greedy.Must(t, "GET", "/payments", greedy.Headers(), nil)
}
