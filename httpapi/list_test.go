package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
)

// listed requests a list and returns the ids of its payments.
func (r *rig) listed(query string) ([]string, answer) {
	r.t.Helper()
	a := r.want(r.get("/payments?"+query), 200, "")
	if lag := a.header.Get("Payledger-Lag"); !strings.HasSuffix(lag, ", ms=0") { // one writer
		r.t.Errorf("the list lags: %s", lag)
	}
	out := []string{}
	for _, one := range a.field("data").([]any) {
		out = append(out, one.(map[string]any)["id"].(string))
	}
	return out, a
}

// sold makes a payment with a card from a session.
func (r *rig) sold(card, session string) string {
	r.t.Helper()
	return r.want(r.pay(payWith(r.tokenize(r.session(session), card))), 200, "").text1("id")
}

// of returns the query string of alternating names and values.
func of(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Add(pairs[i], pairs[i+1])
	}
	return q.Encode()
}

// TestListFilters: each filter alone, with several values, with others, and with nothing that fits
// (D11).
func TestListFilters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const session = `{"orderId":%q,"customerId":%q,"currencyCode":%q,"amount":%d,"customer":{"email":%q}}`
	var made, dates []string
	for i, c := range []struct {
		card, order, customer, currency string
		amount                          int
		email                           string
	}{
		0: {"4111111111111111", "a", "c1", "EUR", 100, "ada@example.com"},
		1: {"5555555555554444", "b", "c2", "USD", 200, "Bob@Example.com"},
		2: {"4000000000000002", "c", "c1", "EUR", 300, "ada@example.com"},          // declined
		3: {"4916994064252017", "with, comma", "", "JPY", 9007199254740991, "x@y"}, // pending: a challenge
		4: {"4000000000005266", "a", "c1", "EUR", 0, "ADA@example.com"},            // at the second processor
	} {
		r.late.Store(int64(i)) // of different seconds
		made = append(made, r.sold(c.card, fmt.Sprintf(session, c.order, c.customer, c.currency, c.amount, c.email)))
		dates = append(dates, r.get("/payments/"+made[i]).text1("date"))
	}
	second := r.get("/payments/"+made[4]).text1("processor", "name")
	merchant := r.get("/payments/"+made[0]).text1("processor", "processorMerchantId")
	berlin := func(date string) string {
		at, err := time.Parse(time.RFC3339Nano, date)
		must(t, err)
		return at.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)
	}
	for query, want := range map[string][]int{
		"":                               {4, 3, 2, 1, 0},
		of("status", "AUTHORIZED"):       {4, 1, 0},
		of("status", "PENDING,DECLINED"): {3, 2},
		of("status", "PENDING", "status", "SETTLED"):                                    {3},
		of("status", "AUTHORIZED,AUTHORIZED", "status", "DECLINED"):                     {4, 2, 1, 0},
		of("status", "CANCELLED"):                                                       {},
		of("payment_method_type", "PAYMENT_CARD"):                                       {4, 3, 2, 1, 0},
		of("payment_method_type", "PAYPAL,APPLE_PAY"):                                   {},
		of("processor", "ADYEN"):                                                        {3, 2, 1, 0},
		of("processor", second):                                                         {4},
		of("processor", "ADYEN,"+second):                                                {4, 3, 2, 1, 0},
		of("merchant_id", merchant):                                                     {3, 2, 1, 0},
		of("merchant_id", "nobody"):                                                     {},
		of("currency_code", "EUR"):                                                      {4, 2, 0},
		of("currency_code", "USD,JPY"):                                                  {3, 1},
		of("customer_id", "c1"):                                                         {4, 2, 0},
		of("customer_id", "c2", "customer_id", "c1,c3"):                                 {1},
		of("customer_id", "C1"):                                                         {},
		of("customer_email_address", "ada@example.com"):                                 {4, 2, 0},
		of("customer_email_address", "bob@EXAMPLE.com,x@y"):                             {3, 1},
		of("customer_email_address", "ada"):                                             {},
		of("last_4_digits", "1111"):                                                     {0},
		of("tried_processor", "ADYEN", "tried_result", "FAILED"):                        {4},
		of("last_4_digits", "4444,0002", "last_4_digits", "5266"):                       {4, 2, 1},
		of("order_id", "a"):                                                             {4, 0},
		of("order_id", "with, comma"):                                                   {3},
		of("order_id", "a,b"):                                                           {},
		of("from_date", dates[2]):                                                       {4, 3, 2},
		of("to_date", dates[2]):                                                         {2, 1, 0},
		of("from_date", berlin(dates[1]), "to_date", strings.TrimSuffix(dates[3], "Z")): {3, 2, 1},
		of("from_date", dates[2], "to_date", dates[2]):                                  {2},
		of("to_date", "2001-01-01T00:00:00Z"):                                           {},
		of("min_amount", "200"):                                                         {3, 2, 1},
		of("max_amount", "200"):                                                         {4, 1, 0},
		of("min_amount", "100", "max_amount", "100"):                                    {0},
		of("min_amount", "9007199254740991"):                                            {3},
		of("max_amount", "0"):                                                           {4},
		of("status", "AUTHORIZED", "customer_id", "c1", "currency_code", "EUR", "min_amount", "1"): {0},
		of("order_id", "a", "processor", "ADYEN", "customer_email_address", "ada@example.com"):     {0},
		of("customer_id", "c1,c2", "status", "DECLINED,AUTHORIZED", "to_date", dates[2]):           {2, 1, 0},
	} {
		wanted := []string{}
		for _, i := range want {
			wanted = append(wanted, made[i])
		}
		if got, a := r.listed(query); !slices.Equal(got, wanted) || a.text1("nextCursor") != "" || a.text1("prevCursor") != "" {
			t.Errorf("%s: %s, want %d", query, a.text, want)
		}
	}
}

// TestListCommas: a value with a comma finds its own payments, and not those of the values that the
// comma could separate (D22). A cursor keeps the reading of its first page.
func TestListCommas(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	sold := func(customer, email string) string {
		return r.sold(goodCard, fmt.Sprintf(`{"orderId":"o","customerId":%q,"currencyCode":"EUR","amount":100,"customer":{"email":%q}}`, customer, email))
	}
	acme, inc, both := sold("Acme", "a@x.example"), sold(" Inc", "b@x.example"), sold("Acme, Inc", `"a@x.example,b@x.example"@y.example`)
	check := func(query, split string, want ...string) answer {
		t.Helper()
		got, a := r.listed(query)
		warnings, _ := a.json["warnings"].([]any)
		if !slices.Equal(got, want) || (split != "") != (len(warnings) == 1) || split != "" && !strings.Contains(a.text, "has the value of "+split) {
			t.Errorf("%s: %s, expected %v", query, a.text, want)
		}
		return a
	}
	check(of("customer_id", "Acme, Inc"), "", both)
	check(of("customer_id", "Acme, Inc", "customer_id", "nobody"), "", both)
	check(of("customer_id", "nobody, Inc", "customer_id", "Acme"), "", acme)
	check(of("customer_id", "Acme, Inc", "status", "DECLINED,FAILED"), "") // no such payment: the reading hangs on the value alone
	check(of("customer_id", "Acme,nobody"), "customer_id", acme)
	check(of("customer_id", "Acme,"), "customer_id", acme)
	check(of("customer_id", ","), "")
	check(of("customer_email_address", "a@x.example,b@x.example"), "customer_email_address", inc, acme)
	check(of("customer_email_address", `"A@x.example,b@x.example"@y.example`), "", both)
	check(of("merchant_id", "nobody,else"), "merchant_id")
	check(of("paypal_email", "a,b"), "")
	first := check(of("customer_id", "Acme, Inc,nobody", "limit", "1"), "customer_id", inc)
	now := sold("Acme, Inc,nobody", "c@x.example")
	check(of("customer_id", "Acme, Inc,nobody", "limit", "1", "cursor", first.text1("nextCursor")), "customer_id", acme)
	check(of("customer_id", "Acme, Inc,nobody", "limit", "1"), "", now)
	long := strings.Repeat("c", 200)
	check(of("customer_id", long+","+long), "customer_id")

	s := siteOf(t, r)
	s.signIn()
	s.open("/dashboard/payments?" + of("customer", "Acme,nobody"))
	if strings.Contains(s.now.text, acme) {
		t.Error("the dashboard shows payments of another customer")
	}
	s.open("/dashboard/payments?" + of("customer", "Acme, Inc"))
	if !strings.Contains(s.now.text, both) {
		t.Error("the dashboard does not show the customer's payment")
	}
}

// TestListFields: an element has the fields of D11, with the values of GET.
func TestListFields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	full := r.sold(goodCard, someSession)
	bare := r.sold(declinedCard, `{"orderId":"o","currencyCode":"EUR","amount":1}`)
	want := map[string][]string{
		full: {"amount", "currencyCode", "customerId", "date", "dateUpdated", "id", "metadata", "orderId", "paymentMethodData", "paymentMethodType", "processor", "status"},
		bare: {"amount", "currencyCode", "date", "dateUpdated", "id", "orderId", "paymentMethodData", "paymentMethodType", "processor", "status", "statusReason"},
	}
	check := func() {
		t.Helper()
		_, a := r.listed("")
		for _, one := range a.field("data").([]any) {
			listed := one.(map[string]any)
			read := r.get("/payments/" + listed["id"].(string))
			if names := slices.Sorted(maps.Keys(listed)); !slices.Equal(names, want[listed["id"].(string)]) {
				t.Errorf("fields %v", names)
			}
			for name, value := range listed {
				same := read.json[name]
				switch name {
				case "paymentMethodType":
					same = read.field("paymentMethod", name)
				case "paymentMethodData":
					card := read.field("paymentMethod", name).(map[string]any)
					same = map[string]any{"network": card["network"], "last4Digits": card["last4Digits"]}
				}
				if !reflect.DeepEqual(value, same) {
					t.Errorf("%s is %v in the list, %v in the payment", name, value, same)
				}
			}
		}
	}
	check()
	r.want(r.post("/payments/"+full+"/capture", `{"amount":1000,"final":false,"metadata":{"more":1}}`), 200, "")
	check()
	if got, a := r.listed("status=PARTIALLY_SETTLED"); !slices.Equal(got, []string{full}) {
		t.Errorf("after the capture: %s", a.text)
	}
	if got, a := r.listed("status=AUTHORIZED"); len(got) > 0 || a.text != `{"data":[]}` {
		t.Errorf("after the capture: %s", a.text)
	}
}

// TestListPages: forward and back, while payments are added, and nothing twice or left out (D11).
func TestListPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	made := []string{}
	add := func(n int) {
		for range n {
			made = slices.Insert(made, 0, r.sold(goodCard, someSession)) // newest first
		}
	}
	page := func(query, cursor string, want []string, next, previous bool) answer {
		t.Helper()
		if cursor != "" {
			query += "&cursor=" + cursor
		}
		got, a := r.listed(query)
		if !slices.Equal(got, want) || (a.text1("nextCursor") != "") != next || (a.text1("prevCursor") != "") != previous {
			t.Fatalf("%s: %s\nwant %v, next %t, previous %t", query, a.text, want, next, previous)
		}
		return a
	}
	page("", "", made, false, false)
	add(7)
	page("", "", made, false, false)
	page("limit=7", "", made, false, false)
	first := page("limit=3", "", made[:3], true, false)
	old := slices.Clone(made)
	add(2)
	second := page("limit=3", first.text1("nextCursor"), old[3:6], true, true)
	add(1)
	third := page("limit=3", second.text1("nextCursor"), old[6:], false, true)
	page("limit=3", first.text1("nextCursor"), old[3:6], true, true)
	page("limit=100", first.text1("nextCursor"), old[3:], false, true) // the limit may change on the way
	back := page("limit=2", third.text1("prevCursor"), old[4:6], true, true)
	page("limit=3", back.text1("nextCursor"), old[6:], false, true)
	back = page("limit=4", back.text1("prevCursor"), old[:4], true, true)
	back = page("limit=4", back.text1("prevCursor"), made[:3], true, false) // the payments that were added meanwhile
	page("limit=1", back.text1("nextCursor"), old[:1], true, true)

	some := page("limit=2&status=AUTHORIZED,PENDING&customer_email_address=ADA@example.com", "", made[:2], true, false)
	page("customer_email_address=ADA@example.com&status=PENDING&limit=5&status=AUTHORIZED", some.text1("nextCursor"), made[2:7], true, true) // the same filters
}

// TestListCursors checks that cursors of other accounts or other filters, and invented or changed
// cursors, are refused.
func TestListCursors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 3 {
		r.sold(goodCard, someSession)
	}
	_, a := r.listed("limit=1&status=AUTHORIZED")
	cursor := a.text1("nextCursor")
	refused := func(name, query string, header ...string) {
		t.Helper()
		q := request{method: "GET", path: "/payments?" + query, header: map[string]string{}}
		for i := 0; i < len(header); i += 2 {
			q.header[header[i]] = header[i+1]
		}
		a := r.want(r.do(q), 422, "RequestValidationError")
		const foreign, filters = "QueryString $.cursor is not a cursor of this list", "QueryString $.cursor is a cursor of this list with other filters; send it with the parameters of the page that it came from, or leave it out"
		want := foreign
		if strings.HasPrefix(name, "filter ") {
			want = filters
		}
		got := a.faults()
		if !slices.Equal(got, []string{want}) && !(strings.HasPrefix(name, "changed ") && slices.Equal(got, []string{filters})) { // its first part is that of the filters
			t.Errorf("%s: %s", name, a.text)
		}
	}
	other := r.otherMerchant()
	refused("another account", "status=AUTHORIZED&cursor="+cursor, "X-Api-Key", other)
	for _, filter := range []string{
		"", "status=PENDING", "status=AUTHORIZED,PENDING", "status=AUTHORIZED&currency_code=EUR", "processor=ADYEN", "status=AUTHORIZED&min_amount=0",
		"status=AUTHORIZED&from_date=2001-01-01T00:00:00Z", "customer_id=AUTHORIZED",
	} {
		refused("filter "+filter, filter+"&cursor="+cursor)
	}
	for i := range cursor {
		changed := []byte(cursor)
		changed[i] = "AB"[max(0, strings.IndexByte("A", changed[i])+1)]
		refused(fmt.Sprint("changed at ", i), "status=AUTHORIZED&cursor="+string(changed))
	}
	for _, text := range []string{cursor[1:], cursor[:len(cursor)-1], cursor + "A", cursor + "=", cursor + cursor[:20], "1", "AAAA", strings.Repeat("A", 60), "null", "é"} {
		refused(text, "status=AUTHORIZED&cursor="+text)
	}
	if got, _ := r.listed("limit=5&status=AUTHORIZED&cursor=" + cursor); len(got) != 2 {
		t.Errorf("the cursor itself finds %v", got)
	}
	q := request{method: "GET", path: "/payments", header: map[string]string{"X-Api-Key": other}}
	if a := r.want(r.do(q), 200, ""); a.text != `{"data":[]}` {
		t.Errorf("another account sees %s", a.text)
	}
}

// TestListFaults: every fault of the query is named, all at once (D1).
func TestListFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const notDate, notCursor = "must be an RFC 3339 date, a + in it written as %2B", "is not a cursor of this list"
	statuses := "must be one of PENDING, FAILED, AUTHORIZED, SETTLING, PARTIALLY_SETTLED, SETTLED, DECLINED, CANCELLED"
	amount, minor := "must be an integer between 0 and 9007199254740991", ", in minor units: 1050 for 10.50 EUR"
	for query, want := range map[string][]string{
		"limit=0": {"$.limit must be an integer between 1 and 100"}, "limit=101": {"$.limit must be an integer between 1 and 100"},
		"limit=": {"$.limit must be an integer between 1 and 100"}, "limit=ten": {"$.limit must be an integer between 1 and 100"},
		"limit=1.5": {"$.limit must be an integer between 1 and 100"}, "limit=1&limit=2": {"$.limit must be sent once"},
		"status=pending": {"$.status " + statuses}, "status=": {"$.status " + statuses}, "status=PENDING,": {"$.status " + statuses},
		"status=PENDING,,SETTLED&status=x":               {"$.status " + statuses},
		"payment_method_type=CARD":                       {"$.payment_method_type must be a payment method type code"},
		"processor=ADYEN&processor=adyen":                {"$.processor must be one of ADYEN, BRAINTREE, CHECKOUT, PAYPAL, STRIPE, WORLDPAY"},
		"currency_code=eur,EUR":                          {"$.currency_code must be an active ISO 4217 currency code"},
		"customer_id=":                                   {"$.customer_id must not be empty"},
		"customer_id=" + strings.Repeat("c", 256):        {"$.customer_id must be at most 255 characters long"},
		"customer_id=" + strings.Repeat("c,", 100) + "c": {"$.customer_id must have at most 100 values"},
		"last_4_digits=123":                              {"$.last_4_digits must be four digits"},
		"last_4_digits=12345,abcd":                       {"$.last_4_digits must be four digits"},
		"order_id=":                                      {"$.order_id must not be empty"},
		"order_id=a&order_id=b":                          {"$.order_id must be sent once"},
		"from_date=2026-03-14":                           {"$.from_date " + notDate},
		"from_date=2026-03-14T09:26:53+01:00":            {"$.from_date " + notDate}, // a space
		"from_date=0000-01-01T00:00:00%2B01:00":          {"$.from_date " + notDate}, // no year that RFC 3339 has
		"to_date=" + strings.Repeat("1", 41):             {"$.to_date must be at most 40 characters long"},
		"from_date=2026-03-15T00:00:00Z&to_date=2026-03-15T00:59:59%2B01:00": {"$.from_date must not be after to_date"},
		"min_amount=-1":               {"$.min_amount " + amount},
		"max_amount=9007199254740992": {"$.max_amount " + amount},
		"min_amount=2&max_amount=1":   {"$.min_amount must not be above max_amount"},
		"min_amount=1e2":              {"$.min_amount " + amount + minor},
		"min_amount=10.50":            {"$.min_amount " + amount + minor},
		"cursor=x":                    {"$.cursor " + notCursor},
		"cursor=":                     {"$.cursor must not be empty"},
		"Status=PENDING":              {"$.Status is not a known parameter; did you mean status?"},
		"page=2&limit=0&status=x&processor=y&currency_code=z&last_4_digits=0&from_date=1&to_date=2&min_amount=a&max_amount=b&cursor=c&merchant_id=&customer_email_address=&payment_method_type=p&customer_id=": {
			"$.currency_code must be an active ISO 4217 currency code", "$.cursor " + notCursor, "$.customer_email_address must not be empty",
			"$.customer_id must not be empty", "$.from_date " + notDate, "$.last_4_digits must be four digits",
			"$.limit must be an integer between 1 and 100", "$.max_amount " + amount + minor, "$.merchant_id must not be empty", "$.min_amount " + amount + minor,
			"$.page is not a known parameter", "$.payment_method_type must be a payment method type code",
			"$.processor must be one of ADYEN, BRAINTREE, CHECKOUT, PAYPAL, STRIPE, WORLDPAY", "$.status " + statuses, "$.to_date " + notDate,
		},
		"from_date=2026-03-15T00:00:00Z&to_date=2026-03-14T00:00:00Z&min_amount=2&max_amount=1&limit=0&cursor=x": {
			"$.cursor " + notCursor, "$.from_date must not be after to_date", "$.limit must be an integer between 1 and 100", "$.min_amount must not be above max_amount",
		},
	} {
		a := r.want(r.get("/payments?"+query), 422, "RequestValidationError")
		for i := range want {
			if !strings.HasPrefix(want[i], "QueryString ") {
				want[i] = "QueryString " + want[i]
			}
		}
		if !slices.Equal(a.faults(), want) {
			t.Errorf("%.100s:\n%s\nwant\n%s", query, strings.Join(a.faults(), "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestListGuards: the list is for keys with its scope, and an e-mail address of the query reaches
// no log (D2).
func TestListGuards(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(r.do(request{method: "GET", path: "/payments", header: map[string]string{"X-Api-Key": ""}}), 401, "Unauthorized")
	r.want(r.do(request{method: "GET", path: "/payments", header: map[string]string{"X-Api-Version": ""}}), 400, "ApiVersionMissing")
	scopes := slices.DeleteFunc(slices.Clone(account.Scopes), func(s string) bool { return s == account.ScopeTransactionsRetrieve })
	body, err := json.Marshal(map[string]any{"name": "no list", "scopes": scopes})
	must(t, err)
	key := r.want(r.post("/management/api-keys", string(body)), 200, "").text1("apiKey")
	a := r.want(r.do(request{method: "GET", path: "/payments/?limit=0", header: map[string]string{"X-Api-Key": key}}), 403, "MissingScope")
	if !strings.Contains(a.text, account.ScopeTransactionsRetrieve) {
		t.Errorf("refused with %s", a.text)
	}
	r.sold(goodCard, strings.ReplaceAll(someSession, "ada@example.com", "secret.person@example.com"))
	if got, a := r.listed("customer_email_address=Secret.Person@example.com"); len(got) != 1 {
		t.Errorf("by e-mail address %s", a.text)
	}
	r.want(r.get("/payments?customer_email_address=secret.person@example.com&cursor=x"), 422, "RequestValidationError")
	if strings.Contains(strings.ToLower(r.log.String()), "secret.person") {
		t.Error("the address is in the log")
	}
}
