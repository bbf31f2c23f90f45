package protocol_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/protocol/openapitest"
)

// messages are the types of openapi.yaml. The ledger reads a dispute without its deadline, which is
// always written.
var messages = map[string]reflect.Type{
	"Operation": reflect.TypeFor[processor.Operation](), "Card": reflect.TypeFor[processor.Card](), "Answer": reflect.TypeFor[processor.Answer](),
	"BinData": reflect.TypeFor[processor.BinData](), "Risk": reflect.TypeFor[processor.Risk](), "Lookup": reflect.TypeFor[processor.Lookup](),
	"Entry": reflect.TypeFor[protocol.Entry](), "Entries": reflect.TypeFor[protocol.Entries](), "Notification": reflect.TypeFor[protocol.Notification](),
	"Dispute": reflect.TypeFor[processor.DisputeUpdate](), "DisputeList": reflect.TypeFor[protocol.DisputeList](),
	"Declaration": reflect.TypeFor[protocol.Declaration](), "Lack": reflect.TypeFor[protocol.Lack](),
	"ErrorBody": reflect.TypeFor[protocol.ErrorBody](), "Error": reflect.TypeFor[protocol.Error](),
}

// TestOpenAPIFields: each message has the fields of its type and no others, with their JSON types;
// required are those that are always written.
func TestOpenAPIFields(t *testing.T) {
	schemas := openapitest.Document(t).Components.Schemas
	for name, schema := range schemas {
		typ, is := messages[name]
		if !is {
			if schema.Value.Type.Is("object") {
				t.Errorf("%s is no message of this test", name)
			}
			continue
		}
		var fields, required []string
		for _, f := range reflect.VisibleFields(typ) {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || field == "-" {
				continue
			}
			fields = append(fields, field)
			if !strings.Contains(options, "omitempty") {
				required = append(required, field)
			}
			if property, has := schema.Value.Properties[field]; !has {
				t.Errorf("openapi.yaml has no %s.%s", name, field)
			} else if want := jsonType(f.Type); want != "" && !property.Value.Type.Is(want) {
				t.Errorf("%s.%s is %v, want %s", name, field, property.Value.Type, want)
			}
		}
		for field := range schema.Value.Properties {
			if !slices.Contains(fields, field) {
				t.Errorf("no type has %s.%s", name, field)
			}
		}
		slices.Sort(required)
		if got := slices.Sorted(slices.Values(schema.Value.Required)); !slices.Equal(got, required) {
			t.Errorf("%s requires %v, want %v", name, got, required)
		}
	}
	for name := range messages {
		if schemas[name] == nil {
			t.Errorf("openapi.yaml has no %s", name)
		}
	}
}

// jsonType returns the JSON type of a Go type; "" for any.
func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "object"
	case t.Kind() == reflect.Pointer:
		return jsonType(t.Elem())
	case t.String() == "time.Time" || t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Map:
		return "object"
	case t.Kind() == reflect.Slice:
		return "array"
	default:
		return "integer"
	}
}

// constants returns the values of the string constants of a type in a folder, from the source.
func constants(t *testing.T, folder, typ string) (values []string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), folder+"/"+f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || spec.Type == nil || len(spec.Values) != 1 {
				return true
			}
			named, _ := spec.Type.(*ast.Ident)
			literal, _ := spec.Values[0].(*ast.BasicLit)
			if named != nil && named.Name == typ && literal != nil {
				value, _ := strconv.Unquote(literal.Value)
				values = append(values, value)
			}
			return true
		})
	}
	if len(values) < 2 {
		t.Fatalf("%s has no constants of type %s", folder, typ)
	}
	return values
}

const domainFolder = "../../domain/processor"

// TestOpenAPIValues: each list of values has the constants of its type and no others.
func TestOpenAPIValues(t *testing.T) {
	schemas := openapitest.Document(t).Components.Schemas
	property := func(schema, field string) *openapi3.Schema { return schemas[schema].Value.Properties[field].Value }
	kinds := constants(t, domainFolder, "Kind") // with dispute
	operations := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return k == string(processor.Dispute) })
	states := constants(t, domainFolder, "State")
	listed := slices.DeleteFunc(slices.Clone(states), func(s string) bool { return s == string(processor.ActionRequired) })
	for _, row := range []struct {
		what   string
		listed []any
		values []string
	}{
		{"Kind", schemas["Kind"].Value.Enum, operations},
		{"Notification.type", property("Notification", "type").Enum, kinds},
		{"State", schemas["State"].Value.Enum, states},
		{"Entry.state", property("Entry", "state").Enum, listed},
		{"Answer.cardTokenType", property("Answer", "cardTokenType").Enum, constants(t, domainFolder, "CardTokenType")},
		{"Operation.outcome", property("Operation", "outcome").Enum, constants(t, domainFolder, "Outcome")},
		{"Lookup.state", property("Lookup", "state").Enum, constants(t, domainFolder, "LookupState")},
		{"Dispute.disputeType", property("Dispute", "disputeType").Enum, constants(t, domainFolder, "DisputeType")},
		{"Dispute.status", property("Dispute", "status").Enum, constants(t, domainFolder, "DisputeStatus")},
		{"Lack.capability", property("Lack", "capability").Enum, constants(t, ".", "Capability")},
		{"Declaration.testCards", property("Declaration", "testCards").PropertyNames.Value.Enum, constants(t, ".", "TestCase")},
		{"Answer.threeDSecureResponseCode", property("Answer", "threeDSecureResponseCode").Enum, domain.Enum("threeDSecureResponseCode")},
		{"BinData.network", property("BinData", "network").Enum, domain.Enum("disputeNetwork")},
		{"BinData.regionalRestriction", property("BinData", "regionalRestriction").Enum, domain.Enum("regionalRestriction")},
		{"BinData.accountNumberType", property("BinData", "accountNumberType").Enum, domain.Enum("accountNumberType")},
		{"BinData.accountFundingType", property("BinData", "accountFundingType").Enum, domain.Enum("accountFundingType")},
		{"BinData.prepaidReloadableIndicator", property("BinData", "prepaidReloadableIndicator").Enum, domain.Enum("prepaidReloadableIndicator")},
		{"BinData.productUsageType", property("BinData", "productUsageType").Enum, domain.Enum("productUsageType")},
		{"Risk.fraudPreAuthorizationResult", property("Risk", "fraudPreAuthorizationResult").Enum, domain.Enum("fraudPreAuthorizationResult")},
		{"Risk.fraudPostAuthorizationResult", property("Risk", "fraudPostAuthorizationResult").Enum, domain.Enum("fraudPostAuthorizationResult")},
		{"Risk.cvvResult", property("Risk", "cvvResult").Enum, domain.Enum("cvvAndAvsResult")},
		{"Risk.avsStreetAddress", property("Risk", "avsStreetAddress").Enum, domain.Enum("cvvAndAvsResult")},
		{"Risk.avsPostalCode", property("Risk", "avsPostalCode").Enum, domain.Enum("cvvAndAvsResult")},
	} {
		var got []string
		for _, v := range row.listed {
			got = append(got, v.(string))
		}
		slices.Sort(got)
		if slices.Sort(row.values); !slices.Equal(got, row.values) {
			t.Errorf("%s has %v, want %v", row.what, got, row.values)
		}
	}
	if len(protocol.Capabilities) != len(constants(t, ".", "Capability")) || len(protocol.TestCases) != len(constants(t, ".", "TestCase")) ||
		len(protocol.States) != len(states) || len(protocol.Kinds) != len(operations) {
		t.Error("a list of package protocol does not have every constant")
	}
}

// TestOpenAPIRules: the document refuses what is no fact.
func TestOpenAPIRules(t *testing.T) {
	for _, row := range []struct {
		schema, text string
		fits         bool
	}{
		{"Answer", `{"state":"SUCCEEDED","processorTransactionId":"x","at":"2026-03-01T12:00:00Z","later":1}`, true},
		{"Answer", `{"state":"SUCCEEDED","at":"2026-03-01T12:00:00Z"}`, false},
		{"Answer", `{"state":"SUCCEEDED","processorTransactionId":"x","at":"2026-03-01T12:00:00Z","retryable":true}`, false},
		{"Answer", `{"state":"ACTION_REQUIRED","processorTransactionId":"x","at":"2026-03-01T12:00:00Z"}`, false},
		{"Answer", `{"state":"DECLINED","at":"2026-03-01T12:00:00Z"}`, false},
		{"Answer", `{"state":"FAILED","code":"x","at":"2026-03-01T12:00:00Z"}`, true},
		{"Answer", `{"state":"DONE","code":"x","at":"2026-03-01T12:00:00Z"}`, false},
		{"Answer", `{"state":"FAILED","code":"x","at":"yesterday"}`, false},
		{"Lookup", `{"state":"UNSEEN"}`, true},
		{"Lookup", `{"state":"KNOWN"}`, false},
		{"Lookup", `{"state":"FENCED","answer":{"state":"FAILED","code":"x","at":"2026-03-01T12:00:00Z"}}`, false},
		{"Notification", `{"id":"1","processor":"A","type":"dispute","reference":"01a"}`, false},
		{"Notification", `{"id":"1","processor":"A","type":"dispute","reference":"01a","dispute":{}}`, true},
		{"Notification", `{"id":"1","processor":"A","type":"capture","reference":"01a","idempotencyKey":"k"}`, false},
		{"Operation", `{"operation":"void","processorMerchantId":"","reference":"01a","amount":0,"currency":""}`, true},
		{"Operation", `{"operation":"void","processorMerchantId":"","reference":"01a","amount":9007199254740992,"currency":""}`, false},
		{"Operation", `{"operation":"void","processorMerchantId":"","reference":"01a","amount":1.5,"currency":""}`, false},
		{"Card", `{"processorToken":"tok_1"}`, true},
		{"Card", `{"processorToken":"tok_1","expirationMonth":"12"}`, false},
		{"Card", `{"number":"4242424242424242","expirationMonth":"12","expirationYear":"2031"}`, true},
		{"Card", `{"expirationMonth":"12","expirationYear":"2031"}`, false},
		{"Declaration", `{"protocol":1,"processor":"A","connector":"c","live":false,"cannot":[],"testCards":{"paid":"4242424242424242"}}`, false},
	} {
		if err := openapitest.FitsRules(row.schema, []byte(row.text)); (err == nil) != row.fits {
			t.Errorf("%s %s: %v", row.schema, row.text, err)
		}
	}
}
