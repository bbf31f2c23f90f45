package httpapi

import (
	"encoding/json"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/dashboard"
)

// loaded is openapi.yaml. The tests only read it.
var loaded = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(openapiYAML) })

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDocumentIsValid(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	if err := load(t).Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestEveryReasonHasAStatus: every reason of the domain, and every errorId of openapi.yaml and
// CONTRACT.md, has a row in the error table (D3), and the other way round.
func TestEveryReasonHasAStatus(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	file, err := goparser.ParseFile(token.NewFileSet(), "../domain/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		found++
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || errorTable[domain.Reason(text)].status == 0 {
			t.Errorf("%s %q has no status", spec.Names[0].Name, text)
		}
		return true
	})
	if found < 20 {
		t.Errorf("only %d reasons found", found)
	}
	contract, err := os.ReadFile("CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	var published []string
	for _, id := range load(t).Components.Schemas["ErrorId"].Value.Enum {
		published = append(published, id.(string))
		if errorTable[domain.Reason(id.(string))].status == 0 {
			t.Errorf("openapi.yaml has %s, the table does not", id)
		}
	}
	for reason := range errorTable {
		if !slices.Contains(published, string(reason)) {
			t.Errorf("openapi.yaml lacks %s", reason)
		}
		if !strings.Contains(string(contract), string(reason)) {
			t.Errorf("CONTRACT.md lacks %s", reason)
		}
	}
}

// walk visits every schema of the document that is not a reference.
func walk(at string, ref *openapi3.SchemaRef, visit func(at string, s *openapi3.Schema)) {
	if ref == nil || ref.Ref != "" {
		return
	}
	visit(at, ref.Value)
	for name, p := range ref.Value.Properties {
		walk(at+"."+name, p, visit)
	}
	walk(at+"[]", ref.Value.Items, visit)
	walk(at+"{}", ref.Value.AdditionalProperties.Schema, visit)
}

// TestSchemasAreStrict checks that an object names all of its fields, so that a wrong field fails a
// test and a request with one is refused. Exempt are metadata, also as a routing condition;
// recorded events, and the states after them that have no JSON of their own in the contract; the
// body of a processor's notification; the body of a webhook, which asyncapi.yaml describes; and the
// collection for Postman, whose format Postman defines.
func TestSchemasAreStrict(t *testing.T) {
	free := []string{"Metadata", "MetadataChange", "RoutingConditions.metadata", "HistoryEntry.event", "ProcessorNotice.body", "ProcessorNotice.additional", "PostmanCollection", "WebhookDelivery.body"}
	for _, recorded := range []string{"event", "account", "attempt", "dispute", "inbox", "instrument", "person", "session", "workflow", "workflowRun", "webhook"} {
		free = append(free, "LogEvent."+recorded)
	}
	for name, ref := range load(t).Components.Schemas {
		walk(name, ref, func(at string, s *openapi3.Schema) {
			closed := s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has
			if s.Type.Is("object") && !closed && !slices.Contains(free, at) {
				t.Errorf("%s takes fields that it does not name", at)
			}
			for _, field := range s.Required {
				if s.Properties[field] == nil {
					t.Errorf("%s requires %s and does not describe it", at, field)
				}
			}
			if s.Type.Is("integer") && s.Max == nil && strings.Contains(at, "mount") && !strings.HasPrefix(at, "PaymentTotals.") { // sums may be above the largest amount
				t.Errorf("%s has no largest amount", at)
			}
			if s.Max != nil && *s.Max > 1e12 && *s.Max != float64(domain.MaxAmount) {
				t.Errorf("%s: largest amount %f", at, *s.Max)
			}
		})
	}
}

// TestEnumerations: openapi.yaml spells every enumeration as the list of the domain does.
func TestEnumerations(t *testing.T) {
	text, err := os.ReadFile("../domain/testdata/enums.json")
	if err != nil {
		t.Fatal(err)
	}
	var lists map[string][]string
	if err := json.Unmarshal(text, &lists); err != nil {
		t.Fatal(err)
	}
	same := map[string]string{ // by the last part of the schema's place
		"PaymentStatus": "paymentStatus", "cardTokenType": "cardTokenType", "paymentType": "paymentType", "authorizationType": "authorizationType",
		"firstPaymentReason": "firstPaymentReason", "transactionType": "transactionType", "Transaction.type": "transactionType", "PaymentInstrument.tokenType": "tokenType",
		"productType": "productType", "RequiredAction.name": "requiredActionName", "StatusReason.type": "statusReasonType", "declineType": "declineType",
		"StatusReason.code": "declineCode", "advisedAction": "advisedAction", "responseCode": "threeDSecureResponseCode",
		"preAuthorizationResult": "fraudPreAuthorizationResult", "postAuthorizationResult": "fraudPostAuthorizationResult", "CvvAndAvsResult": "cvvAndAvsResult",
		"accountFundingType": "accountFundingType", "accountNumberType": "accountNumberType", "regionalRestriction": "regionalRestriction",
		"prepaidReloadableIndicator": "prepaidReloadableIndicator", "productUsageType": "productUsageType", "CardNetwork": "disputeNetwork",
		"ProcessorName": "processor", "approvalMode": "approvalMode", "PaymentMethodType": "paymentMethodType", "CountryCode": "countryCode",
	}
	seen := map[string]bool{}
	for name, ref := range load(t).Components.Schemas {
		walk(name, ref, func(at string, s *openapi3.Schema) {
			for suffix, list := range same {
				if at != suffix && !strings.HasSuffix(at, "."+suffix) || len(s.Enum) == 0 {
					continue
				}
				seen[suffix] = true
				var values []string
				for _, v := range s.Enum {
					if v != nil { // which a nullable one names too
						values = append(values, v.(string))
					}
				}
				if !slices.Equal(values, lists[list]) {
					t.Errorf("%s is %q, %s is %q", at, values, list, lists[list])
				}
			}
			if strings.HasSuffix(at, ".scopes[]") {
				seen[at] = true
				for i, v := range s.Enum {
					if len(s.Enum) != len(account.Scopes) || account.Scopes[i] != v {
						t.Errorf("%s: %v", at, s.Enum)
					}
				}
			}
		})
	}
	for suffix := range same {
		if !seen[suffix] {
			t.Errorf("openapi.yaml has no enumeration %s", suffix)
		}
	}
}

// TestContractNamesEnumerations: a name in the contract that looks like a list's is one.
func TestContractNamesEnumerations(t *testing.T) {
	contract, err := os.ReadFile("CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../domain/testdata/enums.json")
	if err != nil {
		t.Fatal(err)
	}
	var lists map[string]any
	if err := json.Unmarshal(text, &lists); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z][A-Za-z]+)`").FindAllStringSubmatch(string(contract), -1) {
		named[m[1]] = true
	}
	for name := range lists {
		if !named[name] {
			t.Errorf("CONTRACT.md does not name %s", name)
		}
	}
}

func TestRoutesAndDocumentFit(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	a := testAPI(t)
	operations, routes := a.operations, a.table
	if err := checkRoutes(routes, operations); err != nil {
		t.Error(err)
	}
	if checkRoutes(routes[1:], operations) == nil {
		t.Error("a call without a route is not noticed")
	}
	moved := slices.Clone(routes)
	moved[0].path = "/elsewhere"
	if checkRoutes(moved, operations) == nil {
		t.Error("a route without a call is not noticed")
	}
	doc := load(t)
	for _, r := range routes { // D2, D1
		scoped, document := r.scope != "", doc.Paths.Value(r.path).GetOperation(r.method)
		if scoped != (r.access == byAPIKey) {
			t.Errorf("%s %s: scope %q", r.method, r.path, r.scope)
		}
		if scoped && !strings.Contains(document.Description, "Scope "+r.scope+".") {
			t.Errorf("%s %s: openapi.yaml does not name the scope %s", r.method, r.path, r.scope)
		}
		if versioned := document.Parameters.GetByInAndName("header", "X-API-VERSION") != nil; versioned != r.versioned {
			t.Errorf("%s %s: version header %v in openapi.yaml", r.method, r.path, versioned)
		}
	}
}

// dateNames matches the names of fields that contain a date, in any object, and of query
// parameters.
var dateNames = regexp.MustCompile(`(^|[a-z_])(date|Date|At|time)$|^(dateUpdated|since|from_date|to_date|challengeRequiredBy)$`)

// TestDatesAreTyped: a client generated from openapi.yaml has dates as dates, and no value without
// a type.
func TestDatesAreTyped(t *testing.T) {
	dates := 0
	var walk func(path string, ref *openapi3.SchemaRef)
	walk = func(path string, ref *openapi3.SchemaRef) {
		if ref == nil || ref.Ref != "" {
			return
		}
		s := ref.Value
		if s.Type == nil && len(s.AnyOf)+len(s.AllOf) == 0 && !strings.HasSuffix(path, "[]") {
			t.Errorf("%s has no type", path)
		}
		for name, property := range s.Properties {
			if v := property.Value; v.Type.Is("string") && len(v.Enum) == 0 && (dateNames.MatchString(name) || strings.Contains(v.Description, "RFC 3339")) {
				if dates++; v.Format != "date-time" {
					t.Errorf("%s.%s is no date-time", path, name)
				}
			}
			walk(path+"."+name, property)
		}
		walk(path+"[]", s.Items)
	}
	doc := load(t)
	for name, schema := range doc.Components.Schemas {
		walk(name, schema)
	}
	for at, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for _, p := range operation.Parameters {
				if s := p.Value.Schema.Value; strings.Contains(p.Value.Description, "RFC 3339") && p.Value.Name != "at" || strings.HasSuffix(p.Value.Name, "_date") {
					if dates++; s.Format != "date-time" {
						t.Errorf("%s %s: %s is no date-time", method, at, p.Value.Name)
					}
				}
			}
		}
	}
	if dates < 60 {
		t.Errorf("only %d dates were found", dates)
	}
}

// callRow is a row of CONTRACT.md's table of implemented calls.
var callRow = regexp.MustCompile(`(?m)^\| (GET|POST|PUT|PATCH|DELETE) (/\S*) \| (yes|no) \|$`)

// tableCall is a call in the first cell of another table of CONTRACT.md.
var tableCall = regexp.MustCompile(`(?m)^\| (GET|POST|PUT|PATCH|DELETE) (/\S+) \| [^|]{4,}`)

// managedPaths are the paths in the first cell of a row of D20.
var managedPaths = regexp.MustCompile(`(?m)^\| ((?:/[a-zA-Z{}/-]+(?:, )?)+) \|`)

// parameter is a variable part of a path. Tables name the same parameter differently.
var parameter = regexp.MustCompile(`\{[^}]*\}`)

// TestContractSaysWhatIsBuilt checks that every route has a row with yes, that every row with yes
// has a route, that no row with no has one, and that every call in another table of CONTRACT.md has
// a row.
func TestContractSaysWhatIsBuilt(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := func(path string) string { return parameter.ReplaceAllString(path, "{}") }
	rows, paths := map[string]string{}, map[string]bool{}
	for _, m := range callRow.FindAllStringSubmatch(string(contract), -1) {
		call := m[1] + " " + plain(m[2])
		if rows[call] != "" {
			t.Errorf("CONTRACT.md has two rows for %s", call)
		}
		rows[call], paths[plain(m[2])] = m[3], true
	}
	for _, r := range testAPI(t).table {
		call := r.method + " " + plain(r.path)
		if rows[call] != "yes" {
			t.Errorf("%s is built, CONTRACT.md says %q", call, rows[call])
		}
		delete(rows, call)
	}
	pages := map[string]bool{}
	for _, page := range dashboard.Pages() {
		pages[plain(page)] = true
	}
	for call, built := range rows {
		if built == "yes" && !pages[call] {
			t.Errorf("CONTRACT.md says that %s is built; it has no route", call)
		}
	}
	described := 0
	for _, m := range tableCall.FindAllStringSubmatch(string(contract), -1) {
		described++
		if !paths[plain(m[2])] {
			t.Errorf("CONTRACT.md describes %s %s and does not say whether it is built", m[1], m[2])
		}
	}
	_, managed, _ := strings.Cut(string(contract), "## D20")
	managed, _, _ = strings.Cut(managed, "\n## ")
	for _, m := range managedPaths.FindAllStringSubmatch(managed, -1) {
		for i, path := range strings.Split(m[1], ", ") {
			described++
			if i > 0 && !paths["/management"+plain(path)] { // "/payments/{id}/events, /capture"
				path = "/payments/{}" + path
			}
			if !paths["/management"+plain(path)] && !paths["/management"+plain(path)+"/rotate"] {
				t.Errorf("CONTRACT.md describes %s and does not say whether it is built", path)
			}
		}
	}
	if described < 45 {
		t.Errorf("only %d calls are described", described)
	}
}
