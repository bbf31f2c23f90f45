//go:build system

package kills

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/domain/processor"
)

// falsification changes a suitable record of the books, or empties it to delete it. It returns the
// processor and the name of the difference.
type falsification func(record map[string]any) (processor, named string, done bool)

// ofOperation changes operations.
func ofOperation(edit func(o, answer map[string]any) bool) falsification {
	return func(record map[string]any) (string, string, bool) {
		o, is := record["operation"].(map[string]any)
		if !is || !edit(o, o["answer"].(map[string]any)) {
			return "", "", false
		}
		return o["processor"].(string), o["key"].(string), true
	}
}

// ours reports whether a record is an operation of ours with its outcome at once: no later record
// is about it.
func ours(o, answer map[string]any, kind, state string) bool {
	return o["operation"] == kind && answer["state"] == state && strings.HasPrefix(o["key"].(string), o["reference"].(string))
}

// ofOurs changes an operation of ours.
func ofOurs(kind, state string, edit func(o, answer map[string]any)) falsification {
	return ofOperation(func(o, answer map[string]any) bool {
		if !ours(o, answer, kind, state) {
			return false
		}
		edit(o, answer)
		return true
	})
}

// gone takes an operation of ours away.
func gone(kind, state string) falsification {
	edit := ofOurs(kind, state, func(map[string]any, map[string]any) {})
	return func(record map[string]any) (string, string, bool) {
		name, named, is := edit(record)
		if is {
			clear(record)
		}
		return name, named, is
	}
}

func more(o, _ map[string]any) { o["amount"] = json.Number(fmt.Sprint(o["amount"], "0")) }

func failed(_, answer map[string]any) { answer["state"], answer["code"] = "FAILED", "gateway_rejected" }

// falsifications are changes of the books, with the difference that they make.
var falsifications = []struct {
	difference string
	alone      bool // nothing else differs then
	edit       falsification
}{
	{"OTHER_AMOUNT", true, ofOurs("capture", "SUCCEEDED", more)},
	{"OTHER_AMOUNT", true, ofOurs("refund", "SUCCEEDED", more)},
	{"OTHER_AMOUNT", true, ofOurs("adjust", "SUCCEEDED", more)},
	{"OTHER_AMOUNT", true, ofOurs("refund", "SUCCEEDED", func(o, _ map[string]any) { o["currency"] = "GBP" })},
	{"OTHER_STATE", true, ofOurs("authorize", "DECLINED", func(_, answer map[string]any) { answer["state"] = "SUCCEEDED" })},
	{"OTHER_STATE", true, ofOurs("refund", "SUCCEEDED", failed)},
	{"OTHER_STATE", false, ofOurs("void", "SUCCEEDED", failed)}, // perhaps of an authorization that ended with it
	{"OTHER_STATE", true, ofOurs("adjust", "SUCCEEDED", failed)},
	{"OTHER_MERCHANT", true, ofOurs("capture", "SUCCEEDED", func(o, _ map[string]any) { o["processorMerchantId"] = "another" })},
	{"OTHER_TRANSACTION", true, ofOurs("refund", "SUCCEEDED", func(_, answer map[string]any) { answer["processorTransactionId"] = "another" })},
	{"MISSING_THERE", true, gone("refund", "SUCCEEDED")},
	{"MISSING_THERE", true, gone("authorize", "DECLINED")},
	{"MISSING_HERE", false, func(record map[string]any) (string, string, bool) { // as if ours, without a request
		return ofOurs("refund", "FAILED", func(o, _ map[string]any) { o["key"] = o["reference"].(string) + ".999" })(record)
	}},
	{"MISSING_HERE", false, ofOperation(func(o, answer map[string]any) bool {
		if o["operation"] != "capture" || ours(o, answer, "capture", "SUCCEEDED") || answer["state"] != "SUCCEEDED" {
			return false
		}
		o["id"] = "op_" + strings.Repeat("0", 26) // another one than was found: that is missing there, too
		return true
	})},
	{"OTHER_AMOUNT", true, disputedMore}, {"OTHER_STATE", true, disputedOther},
	{"MISSING_THERE", false, disputedElsewhere},
	{"MISSING_HERE", false, func(record map[string]any) (string, string, bool) {
		name, _, done := disputedElsewhere(record)
		return name, noDispute, done
	}},
}

// falsify changes entries of the books, and looks whether each is named: in the folder, and each
// kind of difference in its table and at a server as well.
func (r *reconciling) falsify() {
	r.Helper()
	folder, shown := []string{"--data", r.options.Data}, map[string]bool{}
	for _, c := range falsifications {
		restore, name, named := falsifyBooks(r.T, filepath.Join(r.options.Data, ledger.SimulatorFolder, "books.jsonl"), c.edit)
		r.names(c.difference, named, c.alone, r.reconcile(command.ExitFailure, processor.Name(name), folder...))
		if !shown[c.difference] {
			shown[c.difference] = true
			exit, table, _ := apptest.Invoke(r.T, append([]string{"reconcile", "--processor", name}, folder...)...)
			row := regexp.MustCompile(`(?m)^` + c.difference + ` .* ` + regexp.QuoteMeta(named) + ` .*$`)
			if exit != command.ExitFailure || !row.MatchString(table) {
				r.Errorf("%s of %s has no row (exit %d):\n%s", c.difference, named, exit, table)
			}
			if testing.Short() && len(shown)%3 != 1 { // every third kind is shown by a running server, too
				restore()
				continue
			}
			r.start()
			r.names(c.difference, named, c.alone, r.reconcile(command.ExitFailure, processor.Name(name), "--url", r.app.Ready().API, "--api-key", r.merchant.Key))
			r.stop()
		}
		restore()
	}
	r.agree(folder...)
}

// names looks for a difference.
func (r *reconciling) names(difference, named string, alone bool, got reconciliation) {
	r.Helper()
	there := false
	for _, d := range got.Differences {
		there = there || d.Difference == difference && (d.Key == named || d.DisputeID == named)
	}
	if !there || alone && len(got.Differences) > 1 {
		r.Errorf("%s of %s is reported as %+v", difference, named, got.Differences)
	}
}

// falsifyBooks changes the first record in the file that edit takes; restore puts the file back.
func falsifyBooks(t *testing.T, file string, edit falsification) (restore func(), processor, named string) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var after bytes.Buffer
	changed := false
	for line := range bytes.Lines(before) {
		record := map[string]any{}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&record); err != nil {
			t.Fatal(err)
		}
		if !changed {
			if processor, named, changed = edit(record); changed {
				if line, err = json.Marshal(record); err != nil {
					t.Fatal(err)
				}
				line = append(line, '\n')
				if len(record) == 0 {
					line = nil
				}
			}
		}
		after.Write(line)
	}
	if !changed {
		t.Fatal("nothing in the books can be changed so")
	}
	write := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(after.Bytes())
	return func() { write(before) }, processor, named
}
