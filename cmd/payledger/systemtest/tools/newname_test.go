//go:build system

package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// newName comes to the enumeration of the contract in TestNewName.
const newName = "NEWVENDOR"

// withNewName builds the program with one more value in the enumeration "processor" of the
// contract, and no other change.
func withNewName(t *testing.T) string {
	t.Helper()
	at, root := t.TempDir(), filepath.Join("..", "..", "..", "..")
	names := make([]string, len(processor.Names))
	for i, name := range processor.Names {
		names[i] = string(name)
	}
	replace := map[string]string{}
	for file, c := range map[string]struct{ separator, quote string }{"domain/enums.txt": {" ", ""}, "httpapi/openapi.yaml": {", ", `"`}} {
		path, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before := []byte(c.quote + strings.Join(names, c.quote+c.separator+c.quote) + c.quote)
		if n := bytes.Count(text, before); n != 1 {
			t.Fatalf("%s has the enumeration %d times", file, n)
		}
		replace[path] = filepath.Join(at, filepath.Base(file))
		changed := bytes.Replace(text, before, append(bytes.Clone(before), c.separator+c.quote+newName+c.quote...), 1)
		if err := os.WriteFile(replace[path], changed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := apptest.ToolOutput(t, root, "go", "build", "-buildvcs=false", "-overlay", filepath.Join(at, "overlay.json"), "-o", filepath.Join(at, "payledger"), "./cmd/payledger"); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return filepath.Join(at, "payledger")
}

// TestNewName: a new name of a processor is a new value of the contract's enumeration, and nothing
// else. An account that is older than the name has it, not enabled; a payment goes there when the
// merchant has enabled it, with a capture, a refund and a dispute, and shows in statistics and in
// the comparison of books. A new account has it enabled (D14.1).
func TestNewName(t *testing.T) {
	if !seedtest.AllParts() { // it compiles most packages a second time
		t.Log("NOT RUN: left to the run of all parts")
		return
	}
	t.Parallel()
	data := t.TempDir()
	made := apptest.Initialized(t, data)
	program := withNewName(t)
	p := apptest.ServeProgram(t, program, "--data", data)
	m := apptest.NewMerchant(p.Ready.API, made.APIKey)
	expect := func(when, path, want string) {
		t.Helper()
		if text := string(m.Must(t, "GET", path, m.Headers(), nil).Body); !strings.Contains(text, want) {
			t.Errorf("%s: no %s: %s", when, want, text)
		}
	}
	pay := func(order string) (paid apptest.PaymentAnswer) {
		t.Helper()
		got, err := m.Pay(m.Token(t, order, 2500, "4111111111111111"), "key-"+order)
		if err != nil || got.Status != 200 {
			t.Fatal(got.Status, string(got.Body), err)
		}
		got.Decode(t, &paid)
		return paid
	}
	merchant := fmt.Sprintf(`"name":%q,"processorMerchantId":"newvendor-%s"`, newName, made.AccountID[:8])
	expect("at first", "/management/processors", merchant+`,"enabled":false`)
	rule := map[string]any{"rules": []any{map[string]any{"name": "all", "when": map[string]any{}, "processors": []string{newName, "STRIPE"}}}}
	m.Must(t, "PUT", "/management/routing", m.Headers(), rule)
	if paid := pay("before"); paid.Processor.Name != "STRIPE" {
		t.Errorf("a payment at a processor that is not enabled: %+v", paid)
	}
	m.Must(t, "PATCH", "/management/processors/"+newName, m.Headers(), map[string]any{"enabled": true})
	expect("enabled", "/management/processors", merchant+`,"enabled":true`)
	paid := pay("after")
	if paid.Processor.Name != newName || paid.Status != "AUTHORIZED" {
		t.Fatalf("%+v", paid)
	}
	m.Must(t, "POST", "/payments/"+paid.ID+"/capture", m.Headers(), nil)
	m.Must(t, "POST", "/payments/"+paid.ID+"/refund", m.Headers(), map[string]any{"amount": 500})
	control, err := adapter.New(p.Ready.Simulator, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.OpenDispute(t.Context(), protocol.DisputeOrder{Reference: domain.PaymentID(paid.ID), Type: processor.Chargeback, ReasonCode: "10.4"}); err != nil {
		t.Fatal(err)
	}
	apptest.Until(t, apptest.SettleDeadline, "the dispute", func() (bool, string) {
		text := string(m.Must(t, "GET", "/management/disputes?processor="+newName, m.Headers(), nil).Body)
		return strings.Contains(text, paid.ID), text
	})
	expect("statistics", "/management/statistics", newName)
	if said, err := apptest.ToolOutput(t, ".", program, "reconcile", "--processor", newName, "--url", m.API, "--api-key", m.Key); err != nil ||
		!strings.Contains(said, "2 payments of the ledger with 3 operations there, 3 entries of its books, and 1 notification about disputes") {
		t.Errorf("%v: %s", err, said)
	}
	p.Stop()

	young := apptest.ServeProgram(t, program, "--data", t.TempDir())
	m = apptest.NewMerchant(young.Ready.API, young.Credentials.APIKey)
	expect("a new account", "/management/processors", fmt.Sprintf(`"name":%q,"processorMerchantId":"newvendor-%s","enabled":true`, newName, young.Credentials.AccountID[:8]))
	young.Stop()
}
