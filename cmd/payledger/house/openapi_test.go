package house_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
)

// ownEnums are the enumerations of openapi.yaml, by their first value, that the contract's list
// does not have.
var ownEnums = map[string]string{
	"2.4":                        "the one API version",
	"newest":                     "what sort of the list of payments takes, D20",
	"transactions.events":        "what expand takes",
	"day":                        "what by of the statistics takes, D20",
	"APPROVED":                   "results of an authorization at a processor, which the statistics count",
	"stale":                      "what consistency takes, D11",
	"CHECKOUT":                   "the one type of a session's warnings",
	"MISSING_DATA":               "their one code",
	"LIST":                       "the one type of a list's warnings, D22",
	"SPLIT_AT_COMMAS":            "their one code",
	"INSUFFICIENT_FUNDS":         "the reasons of a decline that a customer learns, D12",
	"REFUND":                     "the one type of a refund's warnings, D22",
	"REFUND_OF_DISPUTED_PAYMENT": "their codes",
	"VAULT":                      "the one paymentFlow, D5",
	"PAYMENT_CARD":               "cards are the one instrument so far",
	"AUTHORIZATION_SUCCEEDED":    "types of transaction events, D6",
	"PAYMENT.STATUS":             "kinds of webhooks, §6.2",
	"MalformedJson":              "errorIds, D3: a test of httpapi walks them",
	"AUTHENTICATED":              "what a required action may end with, D12",
	"MANUAL":                     "capture modes, D5",
	"PLANNED":                    "where a webhook delivery stands, D18",
	"RUNNING":                    "where a webhook replay stands, D20",
	"REQUIRES_APPROVAL":          "where a payment attempt stands, D12",
	"ABORTED":                    "what an abort ends with, D5",
	"SANDBOX":                    "environments, as client tokens name them, D4",
	"STATUS":                     "why a webhook's attempt failed, D18",
	"capture":                    "what workflows do, D19",
	"OPEN":                       "where an action of a workflow run stands, D19",
	"SKIPPED":                    "where a workflow run stands, D19",
	"PAYMENTS":                   "what a failed action of a workflow run belongs to, D19",
	"up":                         "answers of healthz and readyz",
	"OPENED":                     "what became of a fact about a dispute, D16",
	"WAITING":                    "what became of a notification, D14",
	"webhooks":                   "parts beside an event of a history, I1",
	"REQUESTED":                  "the step of a call that an event records, I1",
	"authorize":                  "operations at processors, D14",
	"admin":                      "roles of dashboard users, D20",
	"RULE":                       "the list that decides in a preview of routing, D15",
	"currencyCode":               "the conditions of routing rules, D15",
	"MISSING_HERE":               "differences from a processor's books, D14",
	"NO_ADDRESS":                 "the state of a connection to a processor, D22.9",
}

var enumInYAML = regexp.MustCompile(`enum: \[([^\]]*)\]`)

func TestOpenAPIEnums(t *testing.T) {
	check(t)
	files := tree(t)
	var listed map[string][]string
	if err := json.Unmarshal([]byte(files["domain/testdata/enums.json"]), &listed); err != nil {
		t.Fatal(err)
	}
	all := [][]string{account.Scopes}
	for name := range listed {
		all = append(all, domain.Enum(name))
	}
	found, own := 0, map[string]bool{}
	for _, m := range enumInYAML.FindAllStringSubmatch(files["httpapi/openapi.yaml"], -1) {
		var values []string
		for v := range strings.SplitSeq(m[1], ",") {
			if v = strings.Trim(v, ` "'`); v != "null" { // which a nullable enumeration names too
				values = append(values, v)
			}
		}
		switch {
		case slices.ContainsFunc(all, func(e []string) bool { return slices.Equal(e, values) }):
			found++
		case ownEnums[values[0]] != "":
			own[values[0]] = true
		default:
			t.Errorf("openapi.yaml lists %v, which is no enumeration of the contract", values)
		}
	}
	if found < 20 {
		t.Errorf("only %d enumerations found in openapi.yaml", found)
	}
	for first, why := range ownEnums {
		if !own[first] {
			t.Errorf("openapi.yaml has no list that begins with %s (%s)", first, why)
		}
	}
}
