package domain_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/processor"
	"payledger/domain/session"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// golden compares a generated file with the expected content, or writes it with -update.
func golden(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date: run go test ./domain -update and read the difference", path)
	}
}

type enumeration struct {
	name   string
	values []string
}

// enumerations reads testdata/enums.json in the order of the file.
func enumerations(t *testing.T) []enumeration {
	t.Helper()
	text, err := os.ReadFile("testdata/enums.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var all []enumeration
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		e := enumeration{name: name.(string)}
		if err := dec.Decode(&e.values); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestEnumsAreGenerated keeps enums.txt the same as testdata/enums.json.
func TestEnumsAreGenerated(t *testing.T) {
	var b bytes.Buffer
	for _, e := range enumerations(t) {
		fmt.Fprintf(&b, "%s: %s\n", e.name, strings.Join(e.values, " "))
	}
	golden(t, "enums.txt", b.Bytes())
}

func TestEnum(t *testing.T) {
	for _, e := range enumerations(t) {
		if got := domain.Enum(e.name); !slices.Equal(got, e.values) {
			t.Errorf("%s is %v, not %v", e.name, got, e.values)
		}
	}
	if got := domain.Enum("noSuchEnumeration"); got != nil {
		t.Errorf("an unknown enumeration is %v", got)
	}
	domain.Enum("tokenType")[0] = "changed"
	if slices.Contains(domain.Enum("tokenType"), "changed") {
		t.Error("a caller can change an enumeration")
	}
}

// constants reads the string constants of a type in a package, in their order.
func constants(t *testing.T, dir, typeName string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != typeName {
				return true
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					values = append(values, text)
				}
			}
			return true
		})
	}
	if len(values) == 0 {
		t.Fatalf("%s has no constants of type %s", dir, typeName)
	}
	return values
}

// TestConstantsAreEnumerated checks that each value of the rules is in the contract. If the rules
// know a whole enumeration, the contract has no other value.
func TestConstantsAreEnumerated(t *testing.T) {
	rows := []struct {
		enum   string
		values []string
		all    bool
	}{
		{"paymentStatus", constants(t, "payment", "Status"), true},
		{"processor", constants(t, "processor", "Name"), false},
		{"statusReasonType", constants(t, ".", "Failure"), true},
		{"disputeNetwork", constants(t, ".", "Network"), false},
		{"tokenType", []string{instrument.MultiUse, instrument.SingleUse}, true},
		{"approvalMode", []string{session.ApprovalAuto, session.ApprovalManual}, true},
		{"paymentMethodType", []string{instrument.MethodCard}, false},
	}
	for _, row := range rows {
		listed := domain.Enum(row.enum)
		for _, v := range row.values {
			if !slices.Contains(listed, v) {
				t.Errorf("%s is not in %s", v, row.enum)
			}
		}
		if row.all && !slices.Equal(row.values, listed) {
			t.Errorf("%s is %v in the rules, %v in the contract", row.enum, row.values, listed)
		}
	}
}

// TestProcessorsStay: the processors are those of the enumeration, which grows at its end, up to
// the places of statistics.Tries.
func TestProcessorsStay(t *testing.T) {
	first := []processor.Name{processor.Adyen, processor.Braintree, processor.Checkout, processor.PayPal, processor.Stripe, processor.Worldpay}
	if n := len(processor.Names); n < len(first) || n > 31 || !slices.Equal(first, processor.Names[:len(first)]) {
		t.Errorf("the processors are %v (D15)", processor.Names)
	}
}

// TestDeclinesAreEnumerated checks that the contract has the explanation of every issuer code.
func TestDeclinesAreEnumerated(t *testing.T) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	codes := []string{"", "0", "005", "??"}
	for _, a := range digits {
		for _, b := range digits {
			codes = append(codes, string(a)+string(b))
		}
	}
	for _, code := range codes {
		d := processor.ExplainDecline(code)
		for enum, v := range map[string]string{"declineType": d.Type, "declineCode": d.Code, "advisedAction": d.AdvisedAction} {
			if !slices.Contains(domain.Enum(enum), v) {
				t.Errorf("code %q: %q is not in %s", code, v, enum)
			}
		}
	}
}
